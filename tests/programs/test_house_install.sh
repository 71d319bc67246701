#!/usr/bin/env bash
# Checks that the files of `cmake --install` can be used from C and C++, with pkg-config and find_package,
# shared and static. Installs into a temporary folder only.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
fail() { echo "FAILED: $*"; exit 1; }

cmake --install "$JOULE_BUILD" --prefix "$prefix" >/dev/null
library=$(dirname "$(find "$prefix" -name libjoule.a)")
cd "$JOULE_SOURCE"
pages=(docs/man/*.[1-9]) schemas=(docs/*.schema.json)
for file in bin/joule include/joule/*.h share/doc/joule/LICENSE "${schemas[@]/#docs/share/joule}" \
    share/bash-completion/completions/joule share/zsh/site-functions/_joule \
    share/fish/vendor_completions.d/joule.fish; do
    [[ -s $prefix/$file ]] || fail "$file was not installed"
done
for page in "${pages[@]}"; do
    [[ -s $prefix/share/man/man${page##*.}/${page##*/} ]] || fail "$page was not installed"
done

for file in sbin/joule-helper lib/systemd/system/joule-helper.service lib/systemd/system/joule-helper.socket \
    lib/sysusers.d/joule.conf; do
    [[ ! -e $JOULE_BUILD/tools/helper/joule-helper || -s $prefix/$file ]] || fail "$file was not installed"
done

for file in bin/forge include/forge/*.h include/forge/*.def share/bash-completion/completions/forge \
    share/fish/vendor_completions.d/forge.fish; do
    [[ ! -e $JOULE_BUILD/tools/forge/forge || -s $prefix/$file ]] || fail "$file was not installed"
done

# Only versioned symbols are global, in the static library too, so that internal names cannot collide with a
# user's.
compare_names() { # LIBRARY VERSION
    local versioned global difference
    versioned=$(nm -D --defined-only "$library/$1.so" | sed -n "s/.* [BDRTV] \(.*\)@@${2}_[0-9.]*$/\1/p" | sort)
    global=$(nm -g --defined-only "$library/$1.a" | awk 'NF == 3 { print $3 }' | sort)
    [[ -n $versioned ]] || fail "$1.so has no versioned symbols"
    difference=$(diff <(echo "$versioned") <(echo "$global")) || fail "$1.so and $1.a show other names:
$difference"
}
compare_names libjoule JOULE
[[ ! -e $library/libforge.so ]] || compare_names libforge FORGE

cat >"$work/use.c" <<'END'
#include <joule/joule.h>
#include <math.h>
#include <stdio.h>

int main(void)
{
    joule_quantity nothing = {NAN, NAN, NAN, JOULE_CLASS_NONE, 0};
    printf("%s\n", joule_version());
    return isnan(joule_confidence(nothing)) ? 0 : 1;
}
END
cp "$work/use.c" "$work/use.cc"

# The prefix is moved, so that paths of the build or of the first prefix are found.
mv "$prefix" "$work/moved"
prefix=$work/moved
library=${library/prefix/moved}
if [[ -e $prefix/libexec/joule/joule-serve ]]; then
    [[ $("$prefix/bin/joule" serve --help) == "usage: joule serve"* ]] || fail "joule does not find joule-serve when moved"
fi
# joulec finds the header and libjoule in its own prefix, but a project's own header has priority.
if [[ -e $prefix/bin/joulec ]]; then
    cat >"$work/budget.c" <<'END'
#include <joule/budget.h>
JOULE_BUDGET("max_joules=1J") int twice(int x) { return 2 * x; }
int main(int count, char **words) { (void)words; return twice(count) - 2; }
END
    for check in --energy-check ""; do
        (cd "$work" && "$prefix/bin/joulec" ${check:+"$check"} -O2 -Wall -Werror={all,unused-command-line-argument} budget.c -o budget 2>"$work/said") ||
            fail "joulec $check does not find what was installed with it: $(<"$work/said")"
        "$work/budget" || fail "what joulec $check built does not run"
    done
    (cd "$work" && "$prefix/bin/joulec" -c -Werror -x assembler - <<<.text -o empty.o) || fail "joulec has words for nothing"
    echo "#include <joule/budget.h>" >"$work/budgets.h"
    for words in "budgets.h -o budgets.pch" "-M -x c-header budgets.h"; do
        # shellcheck disable=SC2086
        (cd "$work" && "$prefix/bin/joulec" $words >"$work/said" 2>&1) ||
            fail "joulec $words does not find what was installed with it: $(<"$work/said")"
    done
    echo "[{\"directory\": \"$work\", \"command\": \"cc -c budget.c\", \"file\": \"budget.c\"}]" >"$work/commands.json"
    "$prefix/bin/joulec" --energy-database "$work/commands.json" >"$work/said" 2>&1 ||
        fail "joulec does not find its header for a database: $(<"$work/said")"
    mkdir -p "$work/own/joule" && echo "#error its own" >"$work/own/joule/budget.h"
    "$prefix/bin/joulec" -fsyntax-only -I"$work/own" "$work/budget.c" 2>"$work/said" || true
    grep -q "its own" "$work/said" || fail "joulec takes another header than the project's: $(<"$work/said")"
fi
export PKG_CONFIG_PATH=$library/pkgconfig
version=$(pkg-config --modversion joule)
read -ra shared < <(pkg-config --cflags --libs joule)
read -ra static < <(pkg-config --cflags --libs --static joule)
gcc -std=c11 "$work/use.c" "${shared[@]}" -o "$work/c-shared"
g++ -std=c++11 "$work/use.cc" "${shared[@]}" -o "$work/cxx-shared"
gcc -std=c11 "$work/use.c" "${static[@]/-ljoule/$library/libjoule.a}" -o "$work/c-static"
for program in c-shared cxx-shared c-static; do
    [[ $(LD_LIBRARY_PATH=$library "$work/$program") == "$version" ]] || fail "$program does not say $version"
done
loads() { LD_LIBRARY_PATH=$library ldd "$work/$1"; }
[[ $(loads c-shared) == *'libjoule.so.0 => '* ]] || fail "the soname is not libjoule.so.0"
[[ $(loads c-static) != *libjoule* ]] || fail "the static program needs libjoule.so"
needed=$(objdump -p "$library/libjoule.so" | awk '$1 == "NEEDED" && $2 !~ /^(libc|libm|ld-linux.*)\.so/ { print $2 }')
[[ -z $needed ]] || fail "libjoule.so needs more than libc and libm: $needed"

if [[ -e $library/libforge.so ]]; then
    cat >"$work/forge.c" <<'END'
#include <forge/nn.h>
#include <forge/program.h>
#include <stdio.h>

int main(void)
{
    forge_graph *graph = NULL;
    joule_error error;
    forge_builder *b = forge_builder_new();
    forge_output(b, "y", forge_linear(b, "fc", forge_input(b, "x", FORGE_F32, forge_shape_of(2, 3)), 4, true));
    if (forge_builder_finish(b, &graph, &error) != JOULE_OK)
        return puts(error.message), 1;
    forge_graph_free(graph);
    return puts(joule_version()) < 0;
}
END
    read -ra forge < <(pkg-config --cflags --libs forge)
    read -ra static < <(pkg-config --cflags --libs --static forge)
    static=("${static[@]/%-lforge/$library/libforge.a}")
    cp "$work/forge.c" "$work/forge.cc"
    gcc -std=c11 "$work/forge.c" "${forge[@]}" -o "$work/forge-shared"
    g++ -std=c++11 "$work/forge.cc" "${forge[@]}" -o "$work/forge-cxx"
    gcc -std=c11 "$work/forge.c" "${static[@]/%-ljoule/$library/libjoule.a}" -o "$work/forge-static"
    for program in forge-shared forge-cxx forge-static; do
        [[ $(LD_LIBRARY_PATH=$library "$work/$program") == "$version" ]] || fail "$program does not say $version"
    done
    [[ $(loads forge-shared) == *'libforge.so.0 => '* ]] || fail "the soname is not libforge.so.0"
    ! grep -qE 'lib(joule|forge)' <<<"$(loads forge-static)" || fail "forge-static needs libjoule.so or libforge.so"
    [[ $(ldd "$library/libforge.so") == *"libjoule.so.0 => $library/"* ]] || fail "libforge.so does not find libjoule beside it"
    others=$(nm -D --defined-only "$library/libforge.so" | awk '$3 !~ /^(forge_.*@@FORGE_|FORGE_)/ { print $3 }')
    [[ -z $others ]] || fail "libforge.so shows names that are not its own: $others"
fi

# Examples are built with exactly the commands that they and the guide contain.
mkdir "$work/examples"
cp -r examples/. "$work/examples"
commands=$(sed -n 's/^\( \*\|   \) *\(cc [^&]* -o [a-z_]*\).*/\2/p' examples/*.c docs/guide.md)
examples=(examples/*.c)
[[ $(wc -l <<<"$commands") -gt ${#examples[@]} ]] || fail "the guide or an example does not say how to build it"
while read -r command; do
    [[ $command != *" forge)"* || -e $library/libforge.so ]] || continue
    (cd "$work/examples" && eval "$command") || fail "this does not build: $command"
done <<<"$commands"

# An example with a folder is built there, by the commands of its sources and of its page.
for folder in examples/*/; do
    [[ -e $folder/README.md ]] || continue
    commands=$(sed -n 's/^\( \*\|   \) *\(cc [^&]* -o [a-z_]*\).*/\2/p' "$folder"*.c "$folder"README.md | sort -u)
    [[ -n $commands ]] || fail "$folder does not say how to build it"
    while read -r command; do
        (cd "$work/$folder" && eval "$command") || fail "this does not build in $folder: $command"
    done <<<"$commands"
done

mkdir "$work/consumer"
cat >"$work/consumer/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C CXX)
find_package(joule 0.1 REQUIRED CONFIG)
add_executable(c-cmake ../use.c)
target_link_libraries(c-cmake joule::joule)
add_executable(cxx-cmake ../use.cc)
target_link_libraries(cxx-cmake joule::joule_static)
if(JOULEC_EXECUTABLE)
  joule_check_energy(c-cmake REPORT energy.json)
endif()
if(TARGET joule::forge)
  add_executable(forge-cmake ../forge.c)
  target_link_libraries(forge-cmake joule::forge)
  add_executable(forge-static-cmake ../forge.c)
  target_link_libraries(forge-static-cmake joule::forge_static)
endif()
END
cmake -G Ninja -S "$work/consumer" -B "$work/consumer/build" -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$work/consumer/build" >/dev/null
programs=(c-cmake cxx-cmake)
[[ ! -e $library/libforge.so ]] || programs+=(forge-cmake forge-static-cmake)
for program in "${programs[@]}"; do
    [[ $("$work/consumer/build/$program") == "$version" ]] || fail "$program does not say $version"
done

if [[ -x $prefix/bin/joulec ]]; then
    [[ $(<"$work/consumer/build/energy.json") == *'"name":"main"'* ]] || fail "joule_check_energy did not check use.c"
fi
if [[ -e $prefix/libexec/joule/joule-top ]]; then
    [[ $("$prefix/bin/joule" top --once --period 0.1s) == *TOTAL* ]] || fail "joule does not find joule-top where it was moved to"
fi

DESTDIR=$work/stage cmake --install "$JOULE_BUILD" --prefix /usr >/dev/null
[[ -x $work/stage/usr/bin/joule ]] || fail "DESTDIR was not honoured"
grep -rlF "$work" "$work/stage" && fail "a staged file names the staging folder"
echo "installed, moved and used as joule $version"
