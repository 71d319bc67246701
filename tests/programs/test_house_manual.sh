#!/usr/bin/env bash
# Every manual page is clean mdoc, and every cross-reference to a page of ours leads somewhere.
set -euo pipefail
cd "$JOULE_SOURCE/docs/man"
command -v mandoc >/dev/null || { echo "skipped: there is no mandoc"; exit 77; }
mandoc -Tlint -Wwarning ./*.[137]
mandoc -Tutf8 -Wwarning ./*.[137] >/dev/null
status=0
while IFS=: read -r page reference; do
    read -r name section <<<"${reference#.Xr }"
    case $name in
    *joule*)
        if [[ ! -e $name.$section ]]; then
            echo "$page: there is no $name($section)"
            status=1
        fi
        ;;
    esac
done < <(grep -H '^\.Xr ' ./*.[137] | sed 's/ [,.;]$//')
exit $status
