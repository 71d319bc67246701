#!/usr/bin/env bash
# Runs the programs' tests as on other processors: laptop, server, unknown, a single CPU, a loaded machine.
#
# A mount namespace replaces /proc/cpuinfo, from which libjoule and joulec choose their models. FORGE_ISA limits
# the instruction sets of the kernels. Note: CPUID and the caches stay those of this machine.
# Needs a release build. Exits with 77 if no mount namespace can be made.
#
# usage: tests/cross/processors.sh [NAME...|all]   (without names: n100 unknown one-cpu; `--list` prints all names)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
export JOULE_TEST_DATA=${JOULE_TEST_DATA:-$PWD/../shared/data}

# name|vendor|family|model|instruction set of the kernels (-: the best)|flags|name of the processor
processors() {
    cat <<'ROWS'
n100|GenuineIntel|6|190|avx2|fpu tsc sse2 pni avx avx2 fma|Intel(R) N100
sandy-bridge|GenuineIntel|6|42|plain|fpu tsc sse2 pni avx|Intel(R) Core(TM) i5-2400 CPU @ 3.10GHz
laptop|GenuineIntel|6|154|avx2|fpu tsc sse2 pni avx avx2 fma|12th Gen Intel(R) Core(TM) i7-1260P
xeon|GenuineIntel|6|143|-|fpu tsc sse2 pni avx avx2 fma avx512f amx_tile|Intel(R) Xeon(R) Platinum 8480+
milan-guest|AuthenticAMD|25|1|avx2|fpu tsc sse2 pni avx avx2 fma hypervisor|AMD EPYC 7763 64-Core Processor
ryzen-laptop|AuthenticAMD|25|80|avx2|fpu tsc sse2 pni avx avx2 fma|AMD Ryzen 7 5800U with Radeon Graphics
unknown|SomebodyElse|9|9|plain|fpu tsc sse2 pni|Processor 9
ROWS
}

write_cpuinfo() { # VENDOR FAMILY MODEL FLAGS NAME
    local cpus cpu
    cpus=$(nproc)
    for ((cpu = 0; cpu < cpus; cpu++)); do
        printf 'processor\t: %s\nvendor_id\t: %s\ncpu family\t: %s\nmodel\t\t: %s\nmodel name\t: %s\n' \
            "$cpu" "$1" "$2" "$3" "$5"
        printf 'stepping\t: 1\ncpu MHz\t\t: 2000.000\nphysical id\t: 0\nsiblings\t: %s\ncore id\t\t: %s\n' "$cpus" "$cpu"
        printf 'cpu cores\t: %s\nflags\t\t: %s\nbogomips\t: 4000.00\n\n' "$cpus" "$4"
    done
}

run_tests() { # NAME COMMAND...
    local name=$1
    shift
    echo "== $name"
    "$@" ctest --test-dir build/release --parallel "$(nproc)" -L programs -E '^test_house_' --output-on-failure --no-tests=error \
        >"$folder/$name.log" 2>&1 && return
    grep -E '^\s+[0-9]+ - |tests passed' "$folder/$name.log" | sed "s/^ */$name: /"
    echo "$name: see $folder/$name.log"
    failed=1
}

as_processor() { # ROW
    local name vendor family model isa flags processor
    IFS='|' read -r name vendor family model isa flags processor <<<"$1"
    write_cpuinfo "$vendor" "$family" "$model" "$flags" "$processor" >"$folder/$name.cpuinfo"
    local kernels=(env "FORGE_ISA=$isa")
    [[ $isa != - ]] || kernels=()
    # shellcheck disable=SC2016 # the inner shell expands them
    run_tests "$name" "${kernels[@]}" unshare --mount --propagation private \
        sh -c 'mount --bind "$1" /proc/cpuinfo && shift && exec "$@"' sh "$folder/$name.cpuinfo"
}

# Keeps every CPU busy while the tests run.
under_load() {
    local loops=()
    for ((i = 0; i < $(nproc); i++)); do
        timeout 3600 sh -c 'while :; do :; done' &
        loops+=($!)
    done
    run_tests loaded env
    kill "${loops[@]}"
}

if [[ ${1:-} == --list ]]; then
    processors | cut -d '|' -f 1
    printf 'one-cpu\nloaded\n'
    exit
fi
if ! unshare --mount --propagation private true 2>/dev/null; then
    echo "skipped: other processors need a mount namespace, which only root may make here"
    exit 77
fi
folder=$PWD/build/processors
mkdir -p "$folder"
failed=0
(($#)) || set -- n100 unknown one-cpu
wanted=" $* "
is_wanted() { [[ $wanted == " all " || $wanted == *" $1 "* ]]; }
while IFS= read -r row; do
    ! is_wanted "${row%%|*}" || as_processor "$row"
done < <(processors)
! is_wanted one-cpu || run_tests one-cpu taskset -c 0
! is_wanted loaded || under_load
exit $failed
