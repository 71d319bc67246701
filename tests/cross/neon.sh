#!/usr/bin/env bash
# Builds libforge and libjoule for aarch64 Linux, and runs the unit tests of the CPU's kernels in qemu-user: on a
# processor that has the instruction SDOT, and on one that does not.
#
# Needs Debian's packages ninja-build, gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user. Without them, it
# prints that and exits with 77. cmocka.h in this folder replaces cmocka, so that no packages for arm64 are needed.
# For the same reason, the file that uses zlib is left out. Note: qemu tells nothing about speed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

compiler=aarch64-linux-gnu-gcc
if ! command -v $compiler >/dev/null || ! command -v qemu-aarch64 >/dev/null || ! command -v ninja >/dev/null ||
    ! [[ -e $($compiler -print-file-name=libc.a) ]]; then
    echo "skipped: NEON needs ninja-build, gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user"
    exit 77
fi
build=build/neon
# Tests of kernels, and of the device that selects them.
tests=(attention batch_norm conv device elementwise gelu linear matmul norm paged_attention reduce scatter softmax
    token_rows update window)
# Takes minutes in qemu.
export CROSS_LEFT_OUT=test_each_row_of_a_prompt_alone_has_the_same_bytes

# The options of the kernels are those of src/CMakeLists.txt.
options_of() { # SOURCE
    case $1 in
    */cpu/isa/*) echo "-O3 -ffp-contract=fast -fno-math-errno -Wno-psabi" ;;
    */redfish.c) echo "-DREDFISH_BESIDE='\"joule-redfish\"' -DREDFISH_INSTALLED='\"joule-redfish\"'" ;;
    esac
}

write_rules() {
    local source objects=() name
    cat <<RULES
builddir = $build
rule compile
  command = $compiler -std=gnu17 -O2 -Wall -Wextra -Wshadow -Wno-missing-field-initializers -Werror -D_GNU_SOURCE $
    -Iinclude -Isrc -Itests -Itests/cross \$options -MD -MF \$out.d -c \$in -o \$out
  depfile = \$out.d
  deps = gcc
rule archive
  command = rm -f \$out && aarch64-linux-gnu-ar rcs \$out \$in
rule link
  command = $compiler -static -pthread -o \$out \$in -lm
RULES
    while IFS= read -r source; do
        printf 'build %s: compile %s\n  options = %s\n' "$build/${source%.c}.o" "$source" "$(options_of "$source")"
        objects+=("$build/${source%.c}.o")
    done < <(find src/base src/joule src/forge tests/support/{views,workbench}.c -name '*.c' ! -name file_stream.c)
    echo "build $build/libforge.a: archive ${objects[*]}"
    for name in "${tests[@]}"; do
        echo "build $build/test_cpu_$name.o: compile tests/unit/forge/test_cpu_$name.c"
        echo "build $build/test_cpu_$name: link $build/test_cpu_$name.o $build/libforge.a"
    done
}

run_test() { # NAME PROCESSOR
    echo "== test_cpu_$1 on $2"
    timeout --foreground -k 5 300 qemu-aarch64 -cpu "$2" "$build/test_cpu_$1"
}

mkdir -p "$build"
write_rules >"$build/build.ninja"
ninja -f "$build/build.ninja"
for name in "${tests[@]}"; do
    run_test "$name" max
done
run_test linear cortex-a53 # without SDOT
echo "NEON: passed"
