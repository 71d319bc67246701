#!/usr/bin/env bash
# Builds libjoule and joule for aarch64 Linux, and runs their unit tests and a command under joule in qemu-user.
#
# Needs Debian's packages gcc-aarch64-linux-gnu and qemu-user, and for arm64 (dpkg --add-architecture arm64) libc6
# and libcmocka-dev. Without them, it prints that and exits with 77. Note: the variable not_there lists tests that
# cannot work in qemu-user. qemu-user has no perf events and no seccomp. An emulated program cannot start another one
# without binfmt_misc. Killing processes can disturb qemu's own threads.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if ! command -v aarch64-linux-gnu-gcc >/dev/null || ! command -v qemu-aarch64 >/dev/null ||
    ! [[ -e /usr/lib/aarch64-linux-gnu/pkgconfig/cmocka.pc ]]; then
    echo "skipped: aarch64 needs gcc-aarch64-linux-gnu, qemu-user, libc6:arm64 and libcmocka-dev:arm64"
    exit 77
fi
build=build/aarch64
cmake -S . -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/toolchains/aarch64-linux.cmake" \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DJOULE_WERROR=ON -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON
cmake --build "$build"

# These tests fork, need seccomp or CPU features that qemu does not have, or take too long under emulation.
not_there='test_(confine|host_run|host_tree|threads|life|session_processes|session_shared|report_client|attribute|intervals)'
ctest --test-dir "$build" -L unit -E "$not_there" --timeout 300 --output-on-failure
listing=$(qemu-aarch64 "$build/tools/joule/joule" devices --json --sources estimated,thermal)
[[ $listing == *'"source":"estimated"'* ]]
echo "aarch64: passed"
