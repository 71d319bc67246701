#!/usr/bin/env bash
# Checks that every manual page is valid mdoc, that every cross-reference to a page of this project exists,
# and that a subcommand's page has exactly the options that its help lists.
set -euo pipefail
cd "$JOULE_SOURCE/docs/man"
command -v mandoc >/dev/null || { echo "skipped: there is no mandoc"; exit 77; }
mandoc -Tlint -Wwarning ./*.[1378]
mandoc -Tutf8 -Wwarning ./*.[1378] >/dev/null
status=0
while IFS=: read -r page reference; do
    read -r name section <<<"${reference#.Xr }"
    case $name in
    *joule* | *forge*)
        if [[ ! -e $name.$section ]]; then
            echo "$page: there is no $name($section)"
            status=1
        fi
        ;;
    esac
done < <(grep -H '^\.Xr ' ./*.[1378] | sed 's/ [,.;]$//')

compare() { # PAGE PROGRAM [SUBCOMMAND]
    local page=$1 helped written
    shift
    helped=$("$@" --help | sed -nE 's/^ +(-., +)?(--[a-z-]+).*/\2/p' | sort)
    written=$(grep '^\.It Fl' "$page" | grep -o 'Fl Fl [a-z-]*' | sed 's/Fl Fl /--/' | sort)
    diff <(echo "$helped") <(echo "$written") && return
    echo "$page and --help differ in their options, see above (< help, > page)"
    return 1
}

compare_options() { # PROGRAM NAME
    "$1" --help | sed -nE 's/^  ([a-z-]+) .*/\1/p' | while read -r subcommand; do
        if ! "$1" "$subcommand" --help >/dev/null 2>&1; then
            echo "skipped: $2-$subcommand(1): this build has no $2 $subcommand"
            continue
        fi
        compare "$2-$subcommand.1" "$1" "$subcommand" || exit 1
    done
}
compare_options "$JOULE" joule || status=1
[[ ! -e $JOULE_BUILD/tools/helper/joule-helper ]] || compare joule-helper.8 "$JOULE_BUILD/tools/helper/joule-helper" || status=1
[[ -z $FORGE ]] || compare_options "$FORGE" forge || status=1
exit $status
