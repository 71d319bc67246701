#!/usr/bin/env bash
# Checks that ./dev lists its commands, refuses unknown ones, and counts correctly: neither a failure nor an
# empty run is reported as success. Uses a copy of ctest's output; builds and installs nothing.
set -euo pipefail
cd "$JOULE_SOURCE"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

expect() { # STATUS WORDS COMMAND...
    local status=0 said
    said=$("${@:3}" 2>&1) || status=$?
    ((status == $1)) || fail "${*:3} ended with $status instead of $1: $said"
    [[ $said == *$2* ]] || fail "${*:3} should say '$2', says: $said"
}

while read -r command; do
    expect 0 "  $command" ./dev help
done < <(sed -n 's/^cmd_\([a-z]*\)() .*/\1/p' dev)
expect 2 "unknown command 'nonsense'" ./dev nonsense
expect 2 "unknown option '--nonsense'" ./dev test --nonsense
expect 2 "unknown role 'nonsense'" ./dev setup nonsense

sums() { printf '%s\n' "$@" >"$work/tally"; }
export JOULE_TALLY=$work/tally
sums "3 0 1 one" "4 0 0 two"
expect 0 "7 passed, 0 failed, 1 skipped" ./dev tally
sums "3 0 1 one" "0 1 0 two"
expect 1 "3 passed, 1 failed, 1 skipped" ./dev tally
: >"$work/tally"
expect 1 "0 passed, 0 failed, 0 skipped" ./dev tally

junit() { # STATUS OUTPUT
    echo "<testsuite><testcase name='test_x' status='$1'><system-out>$2</system-out></testcase></testsuite>" \
        >"$work/junit.xml"
    : >"$work/tally"
}
count() { expect "$1" "$2" python3 tests/tally.py "$work/junit.xml" "$work/tally" x; }
junit run "[  PASSED  ] 5 test(s)."
count 0 ""
grep -qx "5 0 0 x" "$work/tally" || fail "five cases that passed are counted as: $(<"$work/tally")"
junit fail "[  PASSED  ] 5 test(s). and then it crashed"
count 1 "FAILED   test_x"
grep -q "^[05] 1 0 x" "$work/tally" || fail "a program that crashed is counted as: $(<"$work/tally")"
junit run "skipped: a part: there is no such thing"
count 0 "skipped  test_x: a part: there is no such thing"
grep -qx "1 0 1 x" "$work/tally" || fail "a part left out is counted as: $(<"$work/tally")"
echo "./dev helps, refuses and counts"
