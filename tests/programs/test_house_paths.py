#!/usr/bin/env python3
"""Checks that the repository can be checked out on Windows and macOS: no tracked path has a name that these
refuse, and no two paths differ only in case."""
import collections
import os
import re
import subprocess
import sys
import unittest

ROOT = os.environ["JOULE_SOURCE"]
# Windows refuses names with these characters, with a space or full stop at the end, and names of devices.
REFUSED = re.compile(r'[<>:"|?*\\\x00-\x1f]|[. ]$|^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|$)', re.I)


def is_refused(path):
    return any(REFUSED.search(name) for name in path.split("/"))


def tracked_paths():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [os.fsdecode(path) for path in listed.split(b"\0") if path]


class Paths(unittest.TestCase):
    def test_paths_that_windows_cannot_have_are_refused(self):
        refused = ("sys/0000:00", "a/b*", "what?", "aux.c", "src/NUL", "end.", "end ", 'say "no"', "a\\b", "tab\t")
        self.assertEqual([path for path in refused if not is_refused(path)], [])
        allowed = ("src/auxiliary.c", "console/a-b_c.d", ".gitignore", "a b", "libnull.c", "tests/machines/x.ttar")
        self.assertEqual([path for path in allowed if is_refused(path)], [])

    def test_no_tracked_path_is_refused(self):
        self.assertEqual([path for path in tracked_paths() if is_refused(path)], [])

    def test_no_two_paths_differ_only_in_case(self):
        counts = collections.Counter(path.lower() for path in tracked_paths())
        self.assertEqual([path for path, count in counts.items() if count > 1], [])


if __name__ == "__main__":
    try:
        tracked_paths()
    except (OSError, subprocess.CalledProcessError):
        print("skipped: the checked paths are those that git tracks, and there is no git or no repository here")
        sys.exit(77)
    unittest.main(verbosity=2)
