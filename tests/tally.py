#!/usr/bin/env python3
"""Counts the test cases of a ctest run, and prints the reasons of skipped ones.

Reads ctest's JUnit file and runs nothing itself. A cmocka program counts as many cases as it has; any other test
counts as one. Note: a test that exits with 77 was skipped, and its last line is the reason. A test that skips a part
of itself prints "skipped: what: why" and passes.

usage: tally.py JUNIT.xml [TALLY NAME]     appends "passed failed skipped NAME" to the file TALLY, for ./dev to add up
"""
import re
import sys
import xml.etree.ElementTree as xml

CMOCKA_SUM = re.compile(r"^\[  (PASSED |SKIPPED|FAILED )\s*\] (\d+) test\(s\)", re.M)


def cmocka_reasons(output):
    """Returns (case, reason) for each case that called skip(). The reason is the text that the case printed
    before the call."""
    texts, reasons = [], []
    for line in output.splitlines():
        if line.startswith("[ RUN      ]"):
            texts = []
        elif line.startswith("[  SKIPPED ]") and "listed below" not in line:
            case = line.split("] ", 1)[1]
            if case not in dict(reasons):
                reasons.append((case, " ".join(texts)))
            texts = []
        elif not line.startswith("["):
            texts.append(line.strip())
    return reasons


def count(case):
    """Returns (passed, failed, [(name, reason)]) of one ctest test."""
    output = case.findtext("system-out") or ""
    name, status = case.get("name"), case.get("status")
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    parts = [line for line in lines if line.lower().startswith("skipped:")]
    skips = cmocka_reasons(output)
    texts = " ".join(reason for _, reason in skips)
    skips += [(name, line) for line in parts if line not in texts]
    is_skipped = case.find("skipped") is not None and status != "fail"
    if is_skipped and not skips:
        skips = [(name, lines[-1] if lines else "")]
    skips = [(test, re.sub(r"^skip(ped)?: *", "", reason, flags=re.I)) for test, reason in skips]
    if is_skipped:
        return 0, 0, skips
    sums = {}
    for word, number in CMOCKA_SUM.findall(output):
        sums[word.strip()] = sums.get(word.strip(), 0) + int(number)
    if not sums:
        return (0, 1, skips) if status == "fail" else (1, 0, skips)
    failed = sums.get("FAILED", 0)
    if status == "fail" and not failed:  # the program crashed, leaked or ran out of time
        failed = 1
    return sums.get("PASSED", 0), failed, skips


def main(junit, tally=None, label="tests"):
    passed = failed = 0
    skips, failures = [], []
    for case in xml.parse(junit).getroot().iter("testcase"):
        good, bad, left_out = count(case)
        passed, failed, skips = passed + good, failed + bad, skips + left_out
        if bad:
            failures.append(case.get("name"))
    for name, reason in skips:
        print(f"skipped  {name}: {reason or 'no reason given'}")
    for name in failures:
        print(f"FAILED   {name}")
    if tally:
        with open(tally, "a", encoding="utf-8") as file:
            print(passed, failed, len(skips), label, file=file)
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
