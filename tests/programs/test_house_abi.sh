#!/usr/bin/env bash
# Checks that the ABIs of libjoule and libforge are those recorded in docs/abi: nothing is removed or changed,
# and nothing is added without a record. `./dev abi --update` records the ABIs of the build; CONTRIBUTING.md
# states when this is permitted.
set -euo pipefail
cd "${JOULE_SOURCE:-$(dirname "$0")/../..}"
if ! command -v abidiff >/dev/null || [[ $(uname -m) != x86_64 ]]; then
    echo "skipped: the recorded interface is compared by abidiff (abigail-tools) on x86_64"
    exit 77
fi
now=$(mktemp --suffix=.abi)
trap 'rm -f "$now"' EXIT
status=0

# Writes the ABI of a library to the file $now. It contains only types that public headers define: users of an
# opaque type such as joule_meter see only a pointer.
look() { # LIBRARY
    abidw --headers-dir include --drop-private-types --exported-interfaces-only --drop-undefined-syms --no-elf-needed \
        --no-show-locs --no-corpus-path --no-comp-dir-path --no-parameter-names --type-id-style hash "$1" |
        sed "s| path='[^']*/src/| path='src/|" >"$now"
}

for name in libjoule libforge; do
    library=${JOULE_BUILD:-build/release}/src/$name.so known=docs/abi/$name.abi
    if [[ ! -e $library ]]; then
        echo "skipped: $name: it was not built"
        continue
    fi
    look "$library"
    if [[ ${1:-} == --update ]]; then
        cp "$now" "$known"
        echo "recorded $(grep -c '<elf-symbol ' "$known") symbols in $known"
    elif ! abidiff --harmless --no-redundant "$known" "$now"; then
        echo "$name's binary interface is not the one in $known (see CONTRIBUTING.md, Interface)"
        status=1
    fi
done
exit $status
