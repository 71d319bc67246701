#!/usr/bin/env bash
# Builds libjoule and joule for aarch64 Linux and runs their unit tests, and a command under joule, in qemu-user.
#
# Owns the list of tests that mean nothing there. Needs Debian's packages gcc-aarch64-linux-gnu and qemu-user, and for
# arm64 (dpkg --add-architecture arm64) libc6 and libcmocka-dev; says so and exits with 77 without them.
# Newcomers: qemu-user passes on system calls. It knows no perf events and no seccomp, a program of the other machine
# cannot start another one without binfmt_misc, and its own threads get in each other's way where processes are killed.
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

# They make processes, want seccomp or a CPU that qemu does not show, or take too long to be emulated.
not_there='test_(confine|host_run|host_tree|threads|life|session_processes|report_client|attribute|intervals)'
ctest --test-dir "$build" -L unit -E "$not_there" --timeout 300 --output-on-failure
listing=$(qemu-aarch64 "$build/tools/joule/joule" devices --json --sources estimated,thermal)
[[ $listing == *'"source":"estimated"'* ]]
echo "aarch64: passed"
