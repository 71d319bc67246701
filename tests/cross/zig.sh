#!/usr/bin/env bash
# Checks that libjoule and joule compile and link for other operating systems.
#
# usage: tests/cross/zig.sh [TOOLCHAIN...]            default: all that are described below
#
# The built programs are not run. docs/devices.md therefore says *compiles* for these systems. Builds in a
# temporary folder. Needs Zig as a Python package (pip install ziglang). Without it, it prints that and exits
# with 77.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

describe() { # TOOLCHAIN LIBRARY PROGRAM (what file(1) says of them)
    case $1 in
    aarch64-macos) check "$1" libjoule.0.dylib "Mach-O 64-bit arm64 dynamically linked shared library" joule "Mach-O 64-bit arm64 executable" ;;
    x86_64-windows) check "$1" libjoule_record.a "current ar archive" joule.exe "PE32+ executable (console) x86-64" ;;
    *) echo "zig.sh: no toolchain '$1' here" >&2; exit 2 ;;
    esac
}

is_a() { # FILE KIND
    local kind
    kind=$(file --brief --dereference "$1")
    echo "$1: $kind"
    [[ $kind == "$2"* ]]
}

check() { # TOOLCHAIN LIBRARY KIND PROGRAM KIND
    local folder=$work/$1
    echo "== $1"
    if ! { cmake -G Ninja -S . -B "$folder" -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/toolchains/$1.cmake" -DJOULE_PYTHON="$python" \
        -DCMAKE_BUILD_TYPE=Release -DJOULE_WERROR=ON -DJOULE_TESTS=OFF && cmake --build "$folder"; } >"$folder.log" 2>&1; then
        tail -n 40 "$folder.log"
        exit 1
    fi
    is_a "$folder/src/$2" "$3"
    is_a "$folder/tools/joule/$4" "$5"
}

python=$(command -v python3) || { echo "skipped: no python3"; exit 77; }
"$python" -m ziglang version >/dev/null 2>&1 || { echo "skipped: no Zig to cross-compile with (pip install ziglang)"; exit 77; }
for tool in cmake ninja file; do
    command -v "$tool" >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ZIG_GLOBAL_CACHE_DIR=$work/cache ZIG_LOCAL_CACHE_DIR=$work/cache
unset CMAKE_C_COMPILER_LAUNCHER CFLAGS LDFLAGS
(($#)) || set -- aarch64-macos x86_64-windows
for toolchain; do
    describe "$toolchain"
done
