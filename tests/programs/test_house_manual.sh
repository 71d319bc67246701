#!/usr/bin/env bash
# Every manual page is clean mdoc, every cross-reference to a page of ours leads somewhere, and the page of a
# subcommand has the options that its help lists: no more, no less.
set -euo pipefail
cd "$JOULE_SOURCE/docs/man"
command -v mandoc >/dev/null || { echo "skipped: there is no mandoc"; exit 77; }
mandoc -Tlint -Wwarning ./*.[137]
mandoc -Tutf8 -Wwarning ./*.[137] >/dev/null
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
done < <(grep -H '^\.Xr ' ./*.[137] | sed 's/ [,.;]$//')

compare_options() { # PROGRAM NAME
    "$1" --help | sed -nE 's/^  ([a-z]+) .*/\1/p' | while read -r subcommand; do
        if ! "$1" "$subcommand" --help >/dev/null 2>&1; then
            echo "skipped: $2-$subcommand(1): this build has no $2 $subcommand"
            continue
        fi
        helped=$("$1" "$subcommand" --help | sed -nE 's/^ +(-., +)?(--[a-z-]+).*/\2/p' | sort)
        written=$(grep '^\.It Fl' "$2-$subcommand.1" | grep -o 'Fl Fl [a-z-]*' | sed 's/Fl Fl /--/' | sort)
        diff <(echo "$helped") <(echo "$written") && continue
        echo "$2-$subcommand(1) and $2 $subcommand --help differ in their options, see above (< help, > page)"
        exit 1
    done
}
compare_options "$JOULE" joule || status=1
[[ -z $FORGE ]] || compare_options "$FORGE" forge || status=1
exit $status
