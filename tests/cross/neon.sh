#!/usr/bin/env bash
# Builds the kernels of the CPU for aarch64 Linux, and runs their unit tests in qemu-user: on a processor that
# has the instruction SDOT, and on one that does not.
#
# Needs Debian's packages gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user. Without them, it prints
# that and exits with 77. cmocka.h in this folder replaces cmocka, so that no packages for arm64 are needed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

compiler=aarch64-linux-gnu-gcc
if ! command -v $compiler >/dev/null || ! command -v qemu-aarch64 >/dev/null ||
    ! [[ -e $($compiler -print-file-name=libc.a) ]]; then
    echo "skipped: NEON needs gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user"
    exit 77
fi
root=$PWD build=$PWD/build/neon
mkdir -p "$build"
cd "$build"
flags=(-std=gnu17 -O2 -Wall -Wextra -Wshadow -Wno-missing-field-initializers -Werror -D_GNU_SOURCE
    "-I$root/include" "-I$root/src" "-I$root/tests" "-I$root/tests/cross")
$compiler "${flags[@]}" -c "$root"/src/base/*.c "$root"/src/forge/{core,ir,reference,backends/cpu}/*.c \
    "$root/tests/support/views.c"
# The options are those of src/CMakeLists.txt.
$compiler "${flags[@]}" -O3 -ffp-contract=fast -fno-math-errno -Wno-psabi \
    -c "$root"/src/forge/backends/cpu/isa/*.c
rm -f libkernels.a
aarch64-linux-gnu-ar rcs libkernels.a ./*.o
for name in elementwise linear matmul reduce scatter window; do # tests of kernels alone
    $compiler "${flags[@]}" -static -o "test_cpu_$name" "$root/tests/unit/forge/test_cpu_$name.c" libkernels.a -lm
    for processor in max cortex-a53; do
        echo "== test_cpu_$name on $processor"
        timeout 300 qemu-aarch64 -cpu $processor "./test_cpu_$name"
    done
done
echo "NEON: passed"
