#!/usr/bin/env bash
# Checks that the macros of joule/budget.h change nothing in a build. A file with all macros must compile
# without a warning in every language and available compiler, and the program must behave the same. If
# __JOULEC__ is defined, the macros expand to annotations and pragmas that joulec reads.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-Wall -Wextra -Wpedantic -Wshadow -Wattributes -Wunknown-pragmas -Werror "-I$JOULE_SOURCE/include")

cat >"$work/use.c" <<'END'
#include <joule/budget.h>
#include <stdio.h>
#ifdef WITHOUT
#undef JOULE_BUDGET
#undef JOULE_DEPTH
#undef JOULE_THERMAL_AWARE
#undef JOULE_GPU_KERNEL
#undef JOULE_LOOP
#undef JOULE_ASSUME
#define JOULE_BUDGET(text)
#define JOULE_DEPTH(n)
#define JOULE_THERMAL_AWARE
#define JOULE_GPU_KERNEL
#define JOULE_LOOP(min, max)
#define JOULE_ASSUME(condition) ((void)0)
#endif
#define MOST 64

JOULE_BUDGET("max_joules=50uJ,max_watts=12,max_temp_delta=2K,sustained,per_call") int sum(const int *values, int count);
JOULE_BUDGET("max_joules=1mJ") JOULE_DEPTH(MOST) static long factorial(long n)
{
    return n < 2 ? 1 : n * factorial(n - 1);
}

JOULE_THERMAL_AWARE JOULE_GPU_KERNEL int sum(const int *values, int count)
{
    int total = 0;
    JOULE_ASSUME(count >= 0 && count <= MOST);
    if (count > 3)
        JOULE_LOOP(4, MOST) for (int i = 0; i < count; i++)
            total += values[i];
    else
        JOULE_LOOP(0, 3)
        while (count-- > 0)
            total += values[count];
    JOULE_LOOP(1, 1) do
        total++;
    while (total < 0);
    return total;
}

int main(void)
{
    int values[MOST], evaluated = 0;
    JOULE_LOOP(MOST, MOST)
    for (int i = 0; i < MOST; i++)
        values[i] = i * i;
    if (evaluated)
        JOULE_ASSUME(evaluated == 1);
    printf("%d %d %ld\n", sum(values, MOST), sum(values, 2), factorial(10));
    return 0;
}
END

tried=0
check() { # COMPILER LANGUAGE STANDARD [FLAG]
    command -v "$1" >/dev/null || return 0
    echo 'int main(void) { return 0; }' >"$work/empty.c"
    "$1" -x "$2" "-std=$3" -fsyntax-only "$work/empty.c" 2>/dev/null || return 0 # the compiler does not know the standard
    echo "void joule_test_scope(void); void joule_test_scope(void) { JOULE_BUDGET_SCOPE(\"max_joules=1J\"); }" | "$1" -x "$2" "-std=$3" "${@:4}" "${flags[@]}" -include joule/budget.h -fsyntax-only -
    for level in -O0 -O2; do
        for without in "" -DWITHOUT; do
            "$1" -x "$2" "-std=$3" $level $without "${@:4}" "${flags[@]}" "$work/use.c" -o "$work/use${without:-}"
        done
        [[ $("$work/use") == "85345 2 3628800" && $("$work/use") == $("$work/use-DWITHOUT") ]] || {
            echo "FAILED: another result with $*: $("$work/use")"
            exit 1
        }
    done
    tried=$((tried + 1))
}
for compiler in gcc gcc-9 gcc-13 gcc-14 clang clang-10 clang-19; do
    for standard in c11 gnu11 c17 c2x; do
        check $compiler c $standard
    done
done
for compiler in g++ g++-9 g++-13 g++-14 clang++ clang++-10 clang++-19; do
    for standard in c++11 c++17 c++20; do
        check $compiler c++ $standard
    done
done
for compiler in clang clang-19; do # the compilers that joulec uses
    for standard in c11 c2x; do
        check $compiler c $standard -D__JOULEC__
    done
done
((tried)) || {
    echo "skipped: there is no compiler"
    exit 77
}

for compiler in clang clang-19; do
    command -v $compiler >/dev/null || continue
    $compiler -D__JOULEC__ -O2 -S -emit-llvm "${flags[@]}" "$work/use.c" -o "$work/use.ll"
    for note in joule.budget:max_joules=50uJ,max_watts=12,max_temp_delta=2K,sustained,per_call joule.budget:max_joules=1mJ \
        joule.depth:64 joule.thermal_aware joule.gpu_kernel; do
        grep -qF "c\"$note\\00\"" "$work/use.ll" || {
            echo "FAILED: $compiler leaves no annotation $note"
            exit 1
        }
    done
    # Prints the lines on which bounded loops begin, according to the line markers of -E.
    found=$($compiler -D__JOULEC__ -E "${flags[@]}" "$work/use.c" | awk '
        /^# [0-9]+ "/ { line = $2; next }
        /^#pragma joule loop/ { print line ": " $0 }
        { line++ }')
    expected=$(grep -n 'JOULE_LOOP([0-9M]' "$work/use.c" | sed 's/MOST/64/g; s/^\([0-9]*\):.*JOULE_LOOP\(([^)]*)\).*/\1: #pragma joule loop\2/')
    [[ $found == "$expected" ]] || {
        printf 'FAILED: %s finds\n%s\nin place of\n%s\n' "$compiler" "$found" "$expected"
        exit 1
    }
done
echo "$tried compilers and languages give the same"
