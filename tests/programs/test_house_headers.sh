#!/usr/bin/env bash
# Checks that each public header compiles alone, as the first include, as C11, C17 and C++11, without a
# warning, with gcc and clang. Macros of headers are also used in C++.
set -euo pipefail
cd "$JOULE_SOURCE"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-pedantic -Wall -Wextra -Werror -fsyntax-only -Iinclude)

check() { # COMPILER LANGUAGE STANDARD
    command -v "$1" >/dev/null || return 0
    "$1" -x "$2" "-std=$3" "${flags[@]}" "$work/alone.c"
}

for compiler in gcc g++ clang clang++; do
    command -v $compiler >/dev/null || echo "skipped: headers in $compiler: there is no $compiler"
done
header_uses='#include <forge/optim.h>
forge_shape joule_test_shape();
forge_shape joule_test_shape() { return forge_shape_of(2, 3); }
forge_adamw_options joule_test_options();
forge_adamw_options joule_test_options() { return FORGE_ADAMW_OPTIONS; }'
printf '%s\n' "$header_uses" >"$work/alone.c"
check g++ c++ c++11
check clang++ c++ c++11
for header in include/{joule,forge}/*.h; do
    name=${header#include/}
    library=${name%/*}
    [[ $name == $library/$library.h ]] || grep -qF "#include <$name>" "include/$library/$library.h" || {
        echo "FAILED: $library/$library.h does not include $name"
        exit 1
    }
    printf '#include <%s>\n#include <%s>\nint joule_test_unit;\n' "$name" "$name" >"$work/alone.c"
    for standard in c11 c17; do
        check gcc c $standard
        check clang c $standard
    done
    check g++ c++ c++11
    check clang++ c++ c++11
done
