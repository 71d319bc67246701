#!/usr/bin/env python3
"""Checks machines with invalid files: joule reports what it can, the command runs as usual, and nothing
crashes.

Uses copies of the recorded machines in tests/fixtures. Note: unit tests and fuzz targets check the parser of
each file. Here the whole programs must keep running and must not report invented values.
"""
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import tempfile
import unittest

from run_support import JOULE, main, recorded_machine, recorded_machines

NONSENSE = [b"", b"\n", b"garbage\n", b"-1\n", b"nan\n", b"inf\n", b"0x\n", b"1e999\n", b"99999999999999999999\n",
            b"18446744073709551615\n", b"\xff\xfe\x00\x01", b"%s%n\n", b"9" * 5000]


def joule(*words):
    return subprocess.run([JOULE, *words], capture_output=True, timeout=60, check=False)


def figures(value):
    """Returns all numbers in a report."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for part in value for number in figures(part)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


def spoil(root, seed):
    """Makes a random half of the files invalid. The other files stay valid, so that joule finds the invalid
    ones."""
    chance = random.Random(seed)
    for path in sorted(pathlib.Path(root).rglob("*")):
        if path.is_file() and not path.is_symlink() and chance.random() < 0.5:
            path.chmod(0o644)
            path.write_bytes(chance.choice(NONSENSE + [chance.randbytes(40)]))


class Garbage(unittest.TestCase):
    def check_machine(self, root, report):
        ran = joule("run", "--idle", "none", "--root", root, "--json", report, "--", "sh", "-c", "echo out; exit 3")
        self.assertEqual((ran.returncode, ran.stdout), (3, b"out\n"), ran.stderr)
        self.assertIn(b"joule", ran.stderr)
        with open(report, encoding="utf-8") as file:
            found = json.load(file)
        self.assertEqual([n for n in figures(found) if not math.isfinite(n) or n < 0], [], found)
        if found["total_energy_joules"] is not None:  # the maximum in 0.1 s
            self.assertLess(found["total_energy_joules"], 1000)
        for command in ("devices", "doctor"):
            done = joule(command, "--json", "--root", root)
            self.assertIn(done.returncode, (0, 1), done.stderr)
            json.loads(done.stdout)

    def test_each_recorded_machine(self):
        machines = recorded_machines()
        self.assertGreater(len(machines), 4)
        for seed, machine in enumerate(machines):
            with self.subTest(machine), tempfile.TemporaryDirectory() as folder:
                root = os.path.join(folder, "root")
                shutil.copytree(recorded_machine(machine), root, symlinks=True)
                spoil(root, seed)
                self.check_machine(root, os.path.join(folder, "report.json"))


if __name__ == "__main__":
    main()
