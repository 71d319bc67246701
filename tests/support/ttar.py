#!/usr/bin/env python3
"""Makes and extracts .ttar archives: a folder as one text file, in the format of Prometheus' node_exporter.

An archive has one entry for each folder, file and symbolic link. The entries are sorted by path:

    Directory: PATH
    Mode: OCTAL

    Path: PATH
    Lines: N
    N lines of content
    Mode: OCTAL

    Path: PATH
    SymlinkTo: TARGET

Lines between entries that begin with # are comments. In content, NULLBYTE stands for a NUL byte, and EOF at the
end of the last line says that no newline follows. A backslash makes these words literal. Backslashes directly
before them are doubled. All other bytes are stored as they are.
"""
import argparse
import os
import re
import stat
import sys

SEPARATOR = b"# ttar" + b" -" * 36 + b"\n"


class ArchiveError(Exception):
    """The reason why an archive or a folder cannot be converted."""


# --- content ----------------------------------------------------------------------------------------------------
def escaped(backslashes, word, is_literal):
    return backslashes * 2 + (b"\\" if is_literal else b"") + word


def unescaped(found):
    """Returns the backslashes before a word, and whether the word is literal."""
    return found[1][:len(found[1]) // 2], len(found[1]) % 2 == 1


def encode(content):
    """Returns the lines that stand for `content`, each with its newline."""
    *lines, rest = re.sub(rb"(\\*)(NULLBYTE|\0)", lambda found: escaped(found[1], b"NULLBYTE", found[2] != b"\0"),
                          content).split(b"\n")
    lines = [re.sub(rb"(\\*)EOF\Z", lambda found: escaped(found[1], b"EOF", True), line) for line in lines]
    if rest:
        lines.append(re.sub(rb"(\\*)\Z", lambda found: escaped(found[1], b"EOF", False), rest, count=1))
    return [line + b"\n" for line in lines]


def decode(lines):
    """Returns the content that `lines` stand for."""
    content = b""
    for line in lines:
        end = re.search(rb"(\\*)EOF\n\Z", line)
        if end:
            backslashes, is_literal = unescaped(end)
            line = line[:end.start()] + backslashes + (b"EOF\n" if is_literal else b"")
        content += line

    def nul_or_word(found):
        backslashes, is_literal = unescaped(found)
        return backslashes + (b"NULLBYTE" if is_literal else b"\0")

    return re.sub(rb"(\\*)NULLBYTE", nul_or_word, content)


# --- from a folder to an archive ---------------------------------------------------------------------------------
def entries_below(folder, prefix=b""):
    """Yields the lines of each entry below `folder`, a path as bytes."""
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        shown = prefix + name
        if b"\n" in shown:
            raise ArchiveError(f"the name {os.fsdecode(shown)!r} contains a newline")
        status = os.lstat(path)
        mode = b"Mode: %o\n" % stat.S_IMODE(status.st_mode)
        if stat.S_ISLNK(status.st_mode):
            yield [b"Path: " + shown + b"\n", b"SymlinkTo: " + os.readlink(path) + b"\n"]
        elif stat.S_ISDIR(status.st_mode):
            yield [b"Directory: " + shown + b"\n", mode]
            yield from entries_below(path, shown + b"/")
        elif stat.S_ISREG(status.st_mode):
            with open(path, "rb") as file:
                lines = encode(file.read())
            yield [b"Path: " + shown + b"\n", b"Lines: %d\n" % len(lines), *lines, mode]
        else:
            raise ArchiveError(f"{os.fsdecode(shown)} is no file, folder or symbolic link")


def create(archive, folder):
    """Writes `archive` with everything below `folder`; equal folders give equal archives."""
    lines = [line for entry in entries_below(os.fsencode(folder)) for line in (*entry, SEPARATOR)]
    with open(archive, "wb") as file:
        file.writelines(lines)


# --- from an archive to a folder ---------------------------------------------------------------------------------
class Reader:
    """The lines of an archive, with the number of the last one for messages."""

    def __init__(self, archive):
        with open(archive, "rb") as file:
            self.lines = file.read().split(b"\n")
        if self.lines.pop():
            raise ArchiveError("the last line has no newline")
        self.number = 0

    def error(self, reason):
        return ArchiveError(f"line {self.number}: {reason}")

    def line(self):
        if self.number == len(self.lines):
            raise self.error("the archive ends inside an entry")
        self.number += 1
        return self.lines[self.number - 1]

    def field(self, *keys):
        """Returns the key and the value of the next line, which must have one of these keys."""
        line = self.line()
        key, _, value = line.partition(b": ")
        if key not in keys or not value:
            raise self.error(f"{os.fsdecode(line)!r} is not one of: {', '.join(map(os.fsdecode, keys))}")
        return key, value

    def number_of(self, key, base):
        value = self.field(key)[1]
        if not re.fullmatch(rb"[0-9]+" if base == 10 else rb"[0-7]{3,4}", value):
            raise self.error(f"{os.fsdecode(value)!r} is not a number")
        return int(value, base)

    def entries(self):
        """Yields the path, the kind (Directory, Path or SymlinkTo), the content or target, and the mode."""
        while self.number < len(self.lines):
            if self.lines[self.number].startswith(b"#") or not self.lines[self.number]:
                self.number += 1
                continue
            kind, path = self.field(b"Directory", b"Path")
            if kind == b"Directory":
                yield path, kind, None, self.number_of(b"Mode", 8)
            elif self.number < len(self.lines) and self.lines[self.number].startswith(b"SymlinkTo: "):
                yield path, *self.field(b"SymlinkTo"), None
            else:
                lines = [self.line() + b"\n" for _ in range(self.number_of(b"Lines", 10))]
                yield path, kind, decode(lines), self.number_of(b"Mode", 8)


def place_of(folder, path):
    """Returns where an entry belongs; nothing of an archive may be written outside `folder`."""
    place = folder
    for name in path.split(b"/"):
        if name in (b"", b".", b"..") or b"\0" in name or os.path.islink(place):
            raise ArchiveError(f"{os.fsdecode(path)!r} is not a path inside the archive")
        place = os.path.join(place, name)
    return place


def extract(archive, folder):
    """Makes `folder`, which must not exist, with the entries of `archive`."""
    folder = os.fsencode(folder)
    reader = Reader(archive)
    os.makedirs(folder)
    folder_modes = []
    for path, kind, content, mode in reader.entries():
        place = place_of(folder, path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if kind == b"Directory":
            os.makedirs(place, exist_ok=True)
            folder_modes.append((place, mode))
        elif kind == b"SymlinkTo":
            os.symlink(content, place)
        else:
            with open(place, "xb") as file:
                file.write(content)
            os.chmod(place, mode)
    for place, mode in reversed(folder_modes):  # afterwards: a folder may refuse new files
        os.chmod(place, mode)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("create", "extract"))
    parser.add_argument("archive")
    parser.add_argument("folder", help="extract: must not exist")
    given = parser.parse_args()
    try:
        (create if given.command == "create" else extract)(given.archive, given.folder)
    except (ArchiveError, OSError) as error:
        sys.exit(f"ttar.py: cannot {given.command} {given.archive}: {error}")


if __name__ == "__main__":
    main()
