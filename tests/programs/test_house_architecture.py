#!/usr/bin/env python3
"""ARCHITECTURE.md is true: each file of src/ has its part in the drawing and in the table, and includes
nothing above it.

Parses the drawing of layers. Note: a folder and everything below it is one part. A file directly in src/joule
or src/joulec belongs to the part with the longest matching name. Including engine.h counts as a use of the
meter.
"""
import os
import pathlib
import re
import unittest

ROOT = pathlib.Path(os.environ["JOULE_SOURCE"])
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
# After each round of readings the meter notifies its listeners. The page says so below the drawing.
UPWARD = {("meter", "collector"), ("meter", "api"), ("meter", "record")}


def floors():
    """Returns {part: layer}, 0 for the lowest, from the drawing's lines about src/. Parts of joulec have the
    prefix joulec."""
    drawing = PAGE[PAGE.index("    src/forge/"):PAGE.index("    include/joule/")].splitlines()
    rooms = {"base": 0}
    lines = [line for line in drawing if line.strip() and not line.strip().startswith(("---", "src/base", "src/port"))]
    first = next(i for i, line in enumerate(lines) if "src/joulec/" in line)
    last = next(i for i, line in enumerate(lines) if "src/joule/" in line)
    for i, line in enumerate(lines):
        for room in re.split(r"\s{3,}", re.sub(r"src/(joulec?|forge)/", "", line).strip())[0].split():
            rooms["joulec/" * (first <= i < last) + room.rstrip("/")] = len(lines) - i
    return rooms


def room_of(path, rooms):
    """Returns a file's part: collector for src/joule/collector/sweep.c, unit for src/joule/unit.c; None if
    there is none."""
    parts = pathlib.PurePath(path).with_suffix("").parts
    name = parts[0] if parts[0] == "base" or len(parts) == 1 else "joulec/" * (parts[0] == "joulec") + parts[1]
    fitting = [room for room in rooms if name == room or name.startswith(room + "_")]
    return max(fitting, key=len, default=None)


class Architecture(unittest.TestCase):
    def setUp(self):
        self.rooms = floors()
        files = [p.relative_to(ROOT / "src") for p in (ROOT / "src").rglob("*.[ch]")]
        self.files = [f for f in files if f.parts[0] != "port"]
        self.ported = [f for f in files if f.parts[0] == "port" and f.suffix == ".c" and f.stem != "port"]
        self.assertGreater(len(self.files), 50)

    def test_each_file_has_a_room(self):
        self.assertEqual([str(f) for f in self.files if not room_of(f, self.rooms)], [])

    def test_each_room_of_the_drawing_has_files(self):
        self.assertEqual(set(self.rooms) - {room_of(f, self.rooms) for f in self.files}, set())

    def test_each_file_is_in_the_table(self):
        table = re.findall(r"^\| (`.*?) \|", PAGE[:PAGE.index("## How a reading")], re.M)
        owners = [name for row in table for name in re.findall(r"`([^`]+)`", row)]
        self.assertIn("cost/", owners)
        names = {o.removeprefix("src/").rstrip("*/") for o in owners}
        self.assertEqual([str(f) for f in self.files if not room_of(f, names)], [])

    def test_each_ported_file_stands_in_the_place_of_another(self):
        names = {f.name for f in self.files if f.parts[0] != "forge"}
        self.assertEqual([str(f) for f in self.ported if f.name not in names], [])

    def test_forge_uses_public_names_of_libjoule_only(self):
        wrong = [str(f) for f in self.files if f.parts[0] == "forge"
                 and re.search(r'#include "joule/', (ROOT / "src" / f).read_text(encoding="utf-8"))]
        self.assertEqual(wrong, [])

    def test_one_room_knows_llvm(self):
        knowing = {room_of(f, self.rooms) for f in self.files
                   if "#include <llvm-c/" in (ROOT / "src" / f).read_text(encoding="utf-8")}
        self.assertEqual(knowing, {"joulec/llvm"})

    def test_nothing_includes_what_is_above_it(self):
        wrong = []
        for file in self.files:
            room = room_of(file, self.rooms)
            for included in re.findall(r'#include "([^"]+)"', (ROOT / "src" / file).read_text(encoding="utf-8")):
                other = room_of(included, self.rooms)
                if self.rooms[other] > self.rooms[room] and (room, other) not in UPWARD:
                    wrong.append(f"{file} ({room}) includes {included} ({other})")
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
