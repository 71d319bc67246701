#!/usr/bin/env python3
"""Checks that joulec's counts for calls with partly known arguments agree with the counts of runs.

The functions of tests/fixtures/calls/calls.c are compiled as joulec does, and run with a counter for many
inputs; the unit test test_calls compares the two.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("JOULE_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
CALLS = os.path.join(SOURCE, "tests", "fixtures", "calls", "calls.c")
COUNT_BUILD = ["-O2", "-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops", "-g1", "-fno-discard-value-names", "-w"]
INPUTS = (0, 1, 2, 3, 4, 7, 9, 12, 15, 24, 26, 31, 40)


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main():
    checker = os.path.join(os.environ.get("JOULE_BUILD", ""), "tests", "test_calls")
    clang = os.environ.get("JOULEC_CLANG") or shutil.which("clang")
    if not clang or not os.path.exists(checker):
        print("skipped: " + ("no clang" if not clang else f"no {checker}"))
        return 77
    with tempfile.TemporaryDirectory() as folder:
        with open(CALLS, encoding="utf-8") as file:
            names = re.findall(r"^RUN\((\w+)\)", file.read(), re.M)
        with open(os.path.join(folder, "calls.inc"), "w", encoding="utf-8") as file:
            file.writelines(f"CALL({name})\n" for name in names)
        program, bitcode = os.path.join(folder, "calls"), os.path.join(folder, "calls.bc")
        output(clang, "-O1", "-DCOUNTING", "-w", "-I", folder, CALLS, "-o", program)
        output(clang, *COUNT_BUILD, "-emit-llvm", "-c", CALLS, "-o", bitcode)
        text = os.path.join(folder, "calls.txt")
        with open(text, "w", encoding="utf-8") as file:
            file.write(bitcode + "\n" + "".join(output(program, str(value)) for value in INPUTS))
        return subprocess.run([checker], env={**os.environ, "CALLS": text}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
