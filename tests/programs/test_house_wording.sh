#!/usr/bin/env bash
# Checks that comments, messages and pages follow the rules of tests/wording.py, and that this script finds
# violations.
set -euo pipefail
cd "$JOULE_SOURCE"
if ! git ls-files >/dev/null 2>&1; then
    echo "skipped: the checked files are those that git tracks, and there is no git or no repository here"
    exit 77
fi
faulty=$(mktemp --suffix=.h)
trap 'rm -f "$faulty"' EXIT
printf '/* Newcomers: rows move. */\n/* Of the device. */\nint max_look(void); /* %0120d */\n' 0 >"$faulty"
found=$(python3 tests/wording.py "$faulty" || true)
for rule in heading fragment verb "comment over"; do
    grep -q ": $rule" <<<"$found" || { echo "wording.py does not find: $rule"; exit 1; }
done
exec python3 tests/wording.py
