#!/usr/bin/env python3
"""Checks that ARCHITECTURE.md is true: each file of src/ belongs to a part that is in the drawing and in the
table, and the file includes and calls nothing from parts above its own.

Parses the drawing of layers. Note: a folder and everything below it is one part. A file directly in src/joule
or src/joulec belongs to the part with the longest matching name.
"""
import collections
import os
import pathlib
import re
import shutil
import subprocess
import unittest

ROOT = pathlib.Path(os.environ["JOULE_SOURCE"])
ARCHIVES = pathlib.Path(os.environ["JOULE_BUILD"]) / "src"
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def floors():
    """Returns {part: layer} from the drawing's lines about src/; 0 is the lowest layer. Parts of joulec have
    the prefix joulec."""
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
    """Returns the part of a file, such as collector for src/joule/collector/sweep.c and unit for
    src/joule/unit.c; None if it has no part."""
    parts = pathlib.PurePath(path).with_suffix("").parts
    name = parts[0] if parts[0] == "base" or len(parts) == 1 else "joulec/" * (parts[0] == "joulec") + parts[1]
    fitting = [room for room in rooms if name == room or name.startswith(room + "_")]
    return max(fitting, key=len, default=None)


def symbols(archive):
    """Yields (name, kind) of each global symbol; kind U: used, not defined."""
    listed = subprocess.run(["nm", "-gP", archive], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        fields = line.split()
        if len(fields) > 1 and not fields[0].startswith(("__asan", "__odr_asan", "__ubsan", "__tsan")):
            yield fields[0], fields[1]


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

    def test_no_file_includes_a_higher_layer(self):
        wrong = []
        for file in self.files:
            room = room_of(file, self.rooms)
            for included in re.findall(r'#include "([^"]+)"', (ROOT / "src" / file).read_text(encoding="utf-8")):
                other = room_of(included, self.rooms)
                if self.rooms[other] > self.rooms[room]:
                    wrong.append(f"{file} ({room}) includes {included} ({other})")
        self.assertEqual(wrong, [])

    @unittest.skipUnless(shutil.which("nm"), "nm lists the symbols")
    def test_no_layer_of_libjoule_uses_a_symbol_of_one_above_it(self):
        used, owners = collections.defaultdict(set), collections.defaultdict(set)
        layers = sorted((room for room in self.rooms if (ARCHIVES / f"libjoule_{room}.a").exists()), key=self.rooms.get)
        self.assertLessEqual({"base", "sources", "meter", "collector", "api", "record"}, set(layers))
        for layer in layers:
            for name, kind in symbols(ARCHIVES / f"libjoule_{layer}.a"):
                if kind in "Uwv":
                    used[layer].add(name)
                else:
                    owners[name].add(layer)
        self.assertGreater(len(owners), 500)
        wrong = [f"{layer} uses {name} of {owner}" for layer in layers for name in used[layer]
                 for owner in owners[name] if self.rooms[owner] > self.rooms[layer]]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
