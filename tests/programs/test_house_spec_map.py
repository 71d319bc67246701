#!/usr/bin/env python3
"""Checks that docs/spec-map.md is true: each name in it is declared in a public header, is a file of the
repository, or is a test.
"""
import os
import pathlib
import re
import unittest

ROOT = pathlib.Path(os.environ["JOULE_SOURCE"])
PAGE = (ROOT / "docs" / "spec-map.md").read_text(encoding="utf-8")
NAMES = set(re.findall(r"`([^`\n]+)`", PAGE))


class SpecMap(unittest.TestCase):
    def test_functions_and_types_are_public(self):
        headers = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "include").rglob("*.h"))
        named = {n for n in NAMES if re.fullmatch(r"(forge|joule)_\w+|FORGE_\w+", n)}
        self.assertGreater(len(named), 80)
        kinds = {"FORGE_" + name for definition in ("unary", "binary") for name in
                 re.findall(r"\((\w+),", (ROOT / "include" / "forge" / f"{definition}.def").read_text(encoding="utf-8"))}
        self.assertEqual(sorted(n for n in named - kinds if not re.search(rf"\b{n}\b", headers)), [])

    def test_files_exist(self):
        files = {n for n in NAMES if re.match(r"(src|examples|tests)/", n)}
        headers = {"include/" + n for n in NAMES if re.fullmatch(r"forge/\w+\.h", n)}
        self.assertEqual(sorted(n for n in files | headers if not (ROOT / n).exists()), [])

    def test_tests_exist(self):
        tests = {p.stem for p in (ROOT / "tests").rglob("test_*")}
        named = {n for n in NAMES if n.startswith("test_")}
        self.assertGreater(len(named), 40)
        self.assertEqual(sorted(named - tests), [])

    def test_each_row_has_evidence_or_is_later(self):
        rows = [row.split(" | ") for row in re.findall(r"^\| (.*) \|$", PAGE, re.M)]
        body = [row for row in rows if row[0] != "design"]
        self.assertGreater(len(body), 70)
        self.assertEqual([row for row in body if len(row) == 3 and not (row[2].strip() or "*later*" in row[1])], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
