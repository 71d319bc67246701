#!/usr/bin/env python3
"""Checks that joulec's counts of loop nests agree with counts of runs.

The nests of tests/fixtures/scev/nests.c are compiled with clang, opt prints scalar evolution's facts about
their loops, and the nests run with counters. The three together are the text with which the unit test
test_trips_nests checks the sums. With --write LLVM FILE the text is kept as a fixture (LLVM: 14, 19 ...).
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("JOULE_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NESTS = os.path.join(SOURCE, "tests", "fixtures", "scev", "nests.c")
COUNT_BUILD = ["-O2", "-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops", "-g1", "-fno-discard-value-names"]
ARGUMENTS = [(0, 0), (1, 1), (2, 5), (7, 3), (16, 16), (33, 20), (70, 4)]


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def functions_of(nests):
    return re.findall(r"^NEST\((\w+), (\w+)\)", nests, re.M)


def count(folder, clang, functions):
    """Returns {function: {(n, m): {line: iterations}}}."""
    with open(os.path.join(folder, "runs.inc"), "w") as file:
        file.writelines(f"RUN({name}, {type_})\n" for name, type_ in functions)
    program = os.path.join(folder, "nests")
    output(clang, "-O1", "-DCOUNTING", "-w", "-I", folder, NESTS, "-o", program)
    counts = {}
    for name, _ in functions:
        counts[name] = {}
        for n, m in ARGUMENTS:
            lines = output(program, name, str(n), str(m)).split("\n")
            counts[name][n, m] = {int(line.split()[0]): int(line.split()[1]) for line in lines if line}
    return counts


def blocks_of(ir):
    """Returns {function: ({latch: line of its loop}, {block: its successors})}."""
    nodes = dict(re.findall(r"^(![0-9]+) = (.*)$", ir, re.M))
    blocks = {}
    for function, body in re.findall(r"^define [^@]*@(\w+)\(.*?\{\n(.*?)^\}", ir, re.M | re.S):
        latches, successors = {}, {}
        block = "entry"
        for line in body.split("\n"):
            label = re.match(r"([\w.$-]+):", line)
            block = label[1] if label else block
            if re.match(r"  (br|switch) ", line):
                successors[block] = re.findall(r"label %([\w.$-]+)", line)
            loop = re.search(r"!llvm\.loop (![0-9]+)", line)
            if loop:
                first = re.search(r"!\{![0-9]+, (![0-9]+)", nodes[loop[1]])[1]
                latches[block] = int(re.search(r"line: (\d+)", nodes[first])[1])
        blocks[function] = latches, successors
    return blocks


def is_sure(successors, start, header):
    """Returns True if every path from `start` that returns to `start` or leaves the function contains
    `header`."""
    seen, ways = set(), [start]
    while ways:
        block = ways.pop()
        if block == header:
            continue
        following = successors.get(block, [])
        if not following or start in following:
            return False
        ways += [b for b in following if b not in seen]
        seen.update(following)
    return True


def loops_of(text):
    """Returns {function: [(header, parent's header, latch, last)]}, outer loops first."""
    loops = {}
    stack = []
    for line in text.split("\n"):
        function = re.match(r"Determining loop execution counts for: @(\w+)", line)
        loop = re.match(r" *Loop at depth (\d+) containing: (.*)", line)
        if function:
            current = loops.setdefault(function[1], [])
        if not loop:
            continue
        blocks = [(name, flags) for name, flags in re.findall(r"%([\w.$-]+)((?:<\w+>)*)", loop[2])]
        header = next(name for name, flags in blocks if "<header>" in flags)
        latch = next(name for name, flags in blocks if "<latch>" in flags)
        exits = [name for name, flags in blocks if "<exiting>" in flags]
        del stack[int(loop[1]) - 1:]
        last = "reached"
        if stack and len(stack[-1][1]) > 1:
            last = "either"
        elif stack and stack[-1][1] != [stack[-1][2]]:
            last = "missed"
        current.append((header, stack[-1][0] if stack else "-", latch, last))
        stack.append((header, exits, latch))
    return loops


def describe(llvm):
    clang, opt = f"clang-{llvm}", f"opt-{llvm}"
    with open(NESTS) as file:
        nests = file.read()
    sometimes = {i + 1 for i, line in enumerate(nests.split("\n")) if "/* sometimes */" in line}
    lines = [f"# by {output(opt, '--version').split('LLVM version ')[1].split()[0]}"]
    with tempfile.TemporaryDirectory() as folder:
        functions = functions_of(nests)
        counts = count(folder, clang, functions)
        ir_path = os.path.join(folder, "nests.ll")
        output(clang, *COUNT_BUILD, "-w", "-S", "-emit-llvm", NESTS, "-o", ir_path)
        with open(ir_path) as file:
            blocks = blocks_of(file.read())
        scev = output(opt, "-passes=function(print<scalar-evolution>,print<loops>)", "-disable-output", ir_path)
    loops = loops_of(scev)
    for name, _ in functions:
        of_line = {}
        latches, successors = blocks[name]
        for header, parent, latch, last in loops.get(name, []):
            line = latches.get(latch)
            if line is None or line in of_line.values():
                of_line = {}
                break
            of_line[header] = line
            is_always = is_sure(successors, "entry" if parent == "-" else parent, header)
            entry = "sometimes" if line in sometimes else "always" if is_always else "guarded"
            lines.append(f"# loop {name} {header} {parent} {entry} {last}")
        for (n, m), counted in counts[name].items() if of_line else ():
            lines.append(f"# run {name} {n} {m} " + " ".join(str(counted.get(line, 0)) for line in of_line.values()))
    kept = ("Determining", "Loop %", "  exit count")
    lines += [line for line in scev.split("\n") if line.startswith(kept) and "redicated" not in line]
    return "\n".join(lines) + "\n"


def main():
    if sys.argv[1:2] == ["--write"]:
        with open(sys.argv[3], "w") as file:
            file.write(describe(sys.argv[2]))
        return 0
    checker = os.path.join(os.environ.get("JOULE_BUILD", ""), "tests", "test_trips_nests")
    versions = [v for v in ("14", "19") if shutil.which(f"clang-{v}") and shutil.which(f"opt-{v}")]
    if not versions or not os.path.exists(checker):
        print("skipped: " + ("no clang-14 or clang-19 with its opt" if not versions else f"no {checker}"))
        return 77
    for version in versions:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(describe(version))
            file.flush()
            if subprocess.run([checker], env={**os.environ, "TRIPS_NESTS": file.name}).returncode:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
