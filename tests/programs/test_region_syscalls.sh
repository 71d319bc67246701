#!/usr/bin/env bash
# Checks that 100,000 regions and 1,000 scopes with budgets make no system call: strace prints nothing between
# two marks that the program writes.
set -euo pipefail

if ! command -v strace >/dev/null; then
    echo "skipped: strace is not installed"
    exit 77
fi
if grep -q __tsan_init "$JOULE_BUILD/tests/test_life"; then
    echo "skipped: the thread sanitizer makes system calls of its own"
    exit 77
fi
trace=$(mktemp)
trap 'rm -f "$trace"' EXIT
if ! strace -o "$trace" true 2>/dev/null; then
    echo "skipped: strace may not trace here"
    exit 77
fi
# LeakSanitizer cannot run under ptrace.
ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0" strace -f -o "$trace" "$JOULE_BUILD/tests/test_life" marked

between=$(sed -n '/regions begin/,/regions end/p' "$trace" | grep -v 'regions begin\|regions end' || true)
if ! grep -q 'regions end' "$trace"; then
    echo "the program did not reach its end mark"
    exit 1
fi
if grep -q clock_gettime <<<"$between"; then
    echo "skipped: the clock of this machine is not served by the vDSO"
    exit 77
fi
if [ -n "$between" ]; then
    echo "system calls among regions:"
    head -n 20 <<<"$between"
    exit 1
fi
echo "no system call in 100,000 regions"
