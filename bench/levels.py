#!/usr/bin/env python3
"""Compares joulec's predictions for the loops of bench/levels.c with measurements: bench/levels.py JOULEC [OPTIONS OF CLANG].

Prints for each loop the measured time of a call, the prediction with its interval, and the ratio. Without options, loops are
neither vectorized nor unrolled."""
import json
import os
import subprocess
import sys
import tempfile

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "levels.c")
PLAIN = ["-O2", "-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops"]


def main():
    joulec, options = sys.argv[1], sys.argv[2:] or PLAIN
    with tempfile.TemporaryDirectory() as folder:
        program, report = os.path.join(folder, "levels"), os.path.join(folder, "report.json")
        subprocess.run([joulec, *options, SOURCE, "-o", program, "--energy-report", report], check=True)
        with open(report, encoding="utf-8") as file:
            functions = {f["name"]: f for f in json.loads(file.readline())["functions"]}
        lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.split("\n")
    measured = {line.split()[0]: float(line.split()[1]) for line in lines if line}
    print(f"{'loop':12} {'measured':>10} {'expected':>10}   {'interval':21} ratio")
    errors = []
    for name, seconds in measured.items():
        function = functions[name]
        expected, (low, high) = function["time_seconds"], function["interval_seconds"]
        errors.append(max(expected / seconds, seconds / expected))
        print(f"{name:12} {seconds:10.3g} {expected:10.3g}   {low:.2g} .. {high:.2g}".ljust(58),
              f"{expected / seconds:5.2f} {'' if low <= seconds <= high else 'outside'}")
    errors.sort()
    print(f"median error {errors[len(errors) // 2]:.2f}x, worst {errors[-1]:.2f}x")


if __name__ == "__main__":
    main()
