#!/usr/bin/env python3
"""Prints the coverage of each source folder from gcov's counts.

usage: coverage.py BUILD                     prints a table of the folders of src/ and tools/
       coverage.py --record TABLE PAGE       puts the table into the chapter "Coverage" of PAGE

A line that several objects contain is covered if one of them ran it.
"""
import datetime
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BATCH = 40


def counted(batch):
    """Returns [(file, {line: count})] of the objects in `batch`. gcov prints a line of JSON for each."""
    answer = subprocess.run(["gcov", "--json-format", "--stdout", *batch], capture_output=True, text=True, check=True)
    found = []
    for line in answer.stdout.splitlines():
        report = json.loads(line)
        for file in report["files"]:
            path = os.path.normpath(os.path.join(report["current_working_directory"], file["file"]))
            found.append((path, {entry["line_number"]: entry["count"] for entry in file["lines"]}))
    return found


def room_of(path):
    """Returns the folder whose coverage includes a file, for example src/joule/sources for
    src/joule/sources/nvidia/nvml.c."""
    parts = os.path.relpath(path, ROOT).split(os.sep)
    if parts[0] not in ("src", "tools"):
        return None
    return "/".join(parts[:3] if parts[0] == "src" and len(parts) > 3 else parts[:2])


def lines_of(build):
    objects = [os.path.join(folder, name) for folder, _, names in os.walk(build) for name in names if name.endswith(".gcno")]
    batches = [objects[i:i + BATCH] for i in range(0, len(objects), BATCH)]
    lines = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for found in pool.map(counted, batches):
            for path, counts in found:
                known = lines.setdefault(path, {})
                for number, times in counts.items():
                    known[number] = known.get(number, 0) + times
    return lines


def table(build):
    rooms = {}
    for path, counts in lines_of(build).items():
        room = room_of(path)
        if room:
            run, total = rooms.get(room, (0, 0))
            rooms[room] = run + sum(times > 0 for times in counts.values()), total + len(counts)
    if not rooms:
        sys.exit("coverage.py: no counts below " + build)
    rows = sorted(rooms.items()) + [("all", tuple(map(sum, zip(*rooms.values()))))]
    print("| room | lines | run | share |\n|---|---|---|---|")
    for room, (run, total) in rows:
        print(f"| `{room}` | {total} | {run} | {100 * run / total:.1f} % |")


def record(table_path, page_path):
    with open(table_path, encoding="utf-8") as file:
        rows = file.read()
    with open(page_path, encoding="utf-8") as file:
        page = file.read()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    chapter = f"""## Coverage

`./dev coverage --record`: commit {commit}, {datetime.datetime.now(datetime.timezone.utc):%F}. Lines of each room that the tests run, by gcov. A
process that a signal ends, or that may no longer open files, writes no counts. The shares are therefore lower bounds.

{rows}
"""
    page, count = re.subn(r"^## Coverage\n.*?(?=^## )", lambda _: chapter, page, flags=re.M | re.S)
    if not count:
        page = re.sub(r"^(?=## The last full run)", lambda _: chapter, page, flags=re.M)
    with open(page_path, "w", encoding="utf-8") as file:
        file.write(page)


if len(sys.argv) == 4 and sys.argv[1] == "--record":
    record(*sys.argv[2:])
elif len(sys.argv) == 2:
    table(sys.argv[1])
else:
    sys.exit(__doc__)
