#!/usr/bin/env python3
"""Checks tests/support/ttar.py: extracting an archive gives the folder from which it was created, and invalid
archives write nothing outside the folder."""
import os
import random
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ.get("JOULE_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(SOURCE, "tests", "support"))
import ttar  # noqa: E402

MACHINES = os.path.join(SOURCE, "tests", "fixtures", "machines")
ODD_CONTENTS = (
    b"", b"\n", b"\n\n", b"one line\n", b"no newline", b"two\nlines", b"\0", b"a\0b\n\0\0", b"\0OF\n", b"NULLBYT",
    b"EOF", b"EOF\n", b"EOF\nEOF", b"the word EOF inside\n", b"\\EOF\n", b"\\", b"\\\\\0\n", b"\\NULLBYTE\n",
    b"NULLBYTEOF\n", b"a\r\nb\rc", b"Path: x\nLines: 3\nMode: 644\n", b"SymlinkTo: ../x\n", b"Directory: /\n",
    b"# ttar - - -\n", b"\xff\xfe\x80", bytes(range(256)))


def contents_of(folder):
    """Returns {path: (kind, mode, content or target)} for everything below a folder."""
    found = {}
    for parent, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(parent, name)
            mode = os.lstat(path).st_mode
            if os.path.islink(path):
                value = ("link", None, os.readlink(path))
            elif os.path.isdir(path):
                value = ("folder", mode, None)
            else:
                with open(path, "rb") as file:
                    value = ("file", mode, file.read())
            found[os.path.relpath(path, folder)] = value
    return found


class Ttar(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, content, mode=0o644):
        with open(self.path(name), "wb") as file:
            file.write(content)
        os.chmod(self.path(name), mode)
        return self.path(name)

    def test_folder_with_odd_content_survives(self):
        os.makedirs(self.path("tree/empty folder"))
        os.makedirs(self.path("tree/sys/0000:00:02.0"), 0o755)
        for i, content in enumerate(ODD_CONTENTS):
            self.write(f"tree/content {i}", content)
        for mode in (0o400, 0o755, 0o664):
            self.write(f"tree/sys/mode {mode:o}", b"1\n", mode)
        os.symlink("../sys/0000:00:02.0", self.path("tree/sys/device"))
        os.symlink("/nowhere: at all", self.path("tree/dangling"))
        os.chmod(self.path("tree/sys/0000:00:02.0"), 0o700)
        ttar.create(self.path("a.ttar"), self.path("tree"))
        ttar.extract(self.path("a.ttar"), self.path("copy"))
        self.assertEqual(contents_of(self.path("copy")), contents_of(self.path("tree")))

    def test_random_content_survives(self):
        chance = random.Random(1)
        words = [b"EOF", b"NULLBYTE", b"NULLBYT", b"OF", b"\\", b"\0", b"\n", b"\r", b"x", b"\xff", b"Path: "]
        for _ in range(5000):
            content = b"".join(chance.choices(words, k=chance.randrange(9)))
            lines = ttar.encode(content)
            self.assertEqual(ttar.decode(lines), content)
            self.assertFalse([line for line in lines if line.count(b"\n") != 1 or b"\0" in line], content)

    def test_archive_has_the_format_of_node_exporter(self):
        """The archive must have the keywords of node_exporter's format, so that each program can read the
        other's archives."""
        os.mkdir(self.path("tree"), 0o755)
        self.write("tree/a", b"1\n\0EOF\nx")
        os.symlink("a", self.path("tree/b"))
        ttar.create(self.path("a.ttar"), self.path("tree"))
        with open(self.path("a.ttar"), encoding="ascii") as file:
            lines = [line for line in file.read().splitlines() if not line.startswith("#")]
        self.assertEqual(lines, ["Path: a", "Lines: 3", "1", "NULLBYTE\\EOF", "xEOF", "Mode: 644",
                                 "Path: b", "SymlinkTo: a"])

    def test_archives_of_machines_are_as_create_writes_them(self):
        """Stored archives must equal those that create writes. A change of a machine then changes no other
        lines."""
        archives = sorted(os.listdir(MACHINES))
        self.assertGreater(len(archives), 10)
        for archive in archives:
            ttar.extract(os.path.join(MACHINES, archive), self.path(archive + ".tree"))
            ttar.create(self.path(archive), self.path(archive + ".tree"))
            with open(os.path.join(MACHINES, archive), "rb") as old, open(self.path(archive), "rb") as new:
                self.assertEqual(new.read(), old.read(), archive)

    def test_invalid_archives_are_refused(self):
        file = b"Lines: 1\nx\nMode: 644\n"
        for i, archive in enumerate((
                b"Path: ../out\n" + file, b"Path: /out\n" + file, b"Path: a//out\n" + file, b"Path: a/./out\n" + file,
                b"Path: a\nSymlinkTo: ..\nPath: a/out\n" + file, b"Path: a\nSymlinkTo: ../out\nPath: a\n" + file,
                b"Path: out\n" + file + b"Path: out\n" + file, b"Path: out\nLines: 2\nx\n", b"Path: out\n",
                b"Path: out\nLines: -1\n", b"Path: out\nLines: 0\nMode: 9\n", b"nonsense\n", b"Path: out")):
            with self.subTest(archive):
                self.write("a.ttar", archive)
                with self.assertRaises((ttar.ArchiveError, OSError)):
                    ttar.extract(self.path("a.ttar"), self.path(f"tree {i}"))
        self.assertFalse(os.path.lexists(self.path("out")))

    def test_program_creates_and_extracts_archives(self):
        def run(*words):
            return subprocess.run([sys.executable, ttar.__file__, *words], capture_output=True, text=True, check=False)

        os.makedirs(self.path("tree"))
        self.write("tree/a", b"1\n")
        self.assertEqual(run("create", self.path("a.ttar"), self.path("tree")).returncode, 0)
        self.assertEqual(run("extract", self.path("a.ttar"), self.path("copy")).returncode, 0)
        self.assertEqual(contents_of(self.path("copy")), contents_of(self.path("tree")))
        again = run("extract", self.path("a.ttar"), self.path("copy"))
        self.assertEqual(again.returncode, 1)
        self.assertRegex(again.stderr, r"^ttar\.py: cannot extract .*a\.ttar: .*File exists")


if __name__ == "__main__":
    unittest.main(verbosity=2)
