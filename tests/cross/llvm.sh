#!/usr/bin/env bash
# Builds joulec with this machine's newest LLVM, which is not the default one, and runs its tests.
#
# Needs Debian's packages llvm-19-dev, clang-19 and libclang-rt-19-dev, or those of another version from 15 on.
# Without them, it prints that and exits with 77.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

newest=''
for version in {15..19}; do
    if command -v "llvm-config-$version" >/dev/null && [[ -x /usr/lib/llvm-$version/bin/clang ]]; then
        newest=$version
    fi
done
if [[ -z $newest ]]; then
    echo "skipped: another LLVM needs llvm-19-dev, clang-19 and libclang-rt-19-dev, or those of a version from 15 on"
    exit 77
fi
build=build/llvm-$newest
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DJOULE_WERROR=ON \
    -DJOULEC_LLVM_CONFIG="llvm-config-$newest"
cmake --build "$build"
ctest --test-dir "$build" -j2 --timeout 600 --output-on-failure \
    -R 'joulec|test_(branch|calls|chain|growth|merged|module|monotonic_phi|scev)$'
echo "LLVM $newest: passed"
