#!/usr/bin/env python3
"""Compares time and memory of joulec --energy-check on large C files with those of clang -O2 alone.

    bench/large_files.py BUILD/tools/joulec/joulec [LINES [SHAPE ...]]

Shapes: many small functions; a chain of calls; one function with many returns, with a large switch, or without branches.
CPU seconds include all children; memory is the peak of the largest process."""
import os
import subprocess
import sys
import tempfile

INCLUDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../include")


def small(n):
    kinds = ("int f{n}(int a, int b)\n{{\n    return a * b + {n};\n}}\n",
             "int f{n}(const int *x)\n{{\n    int s = 0;\n    for (int i = 0; i < {k}; i++)\n        s += x[i];\n    return s;\n}}\n",
             "double f{n}(const double *x, int n)\n{{\n    double s = 0;\n    for (int i = 0; i < n; i++)\n        s += x[i] * x[i];\n"
             "    return s;\n}}\n")
    return "".join(kinds[i % 3].format(n=i, k=i % 97 + 3) for i in range(n * 3 // 18))


def chain(n):
    return "int f0(int a) { return a; }\n" + "".join(
        f"__attribute__((noinline)) int f{i}(int a)\n{{\n    return f{i - 1}(a + {i}) ^ a;\n}}\n" for i in range(1, n // 4))


def ways_out(n):
    body = "".join(f"    if (x[{i}] > {i * 7 % 31})\n        return {i * 13 % 101};\n" for i in range(n // 2))
    return "int f(const int *x)\n{\n" + body + "    return 0;\n}\n"


def switch(n):
    body = "".join(f"    case {i}:\n        x[{i * 7 % 1000}] += {i % 77};\n        return x[{i % 991}];\n" for i in range(n // 3))
    return "int f(int a, int *x)\n{\n    switch (a) {\n" + body + "    }\n    return 0;\n}\n"


def straight(n):
    body = "".join(f"    x[{i % 5000}] = x[{(i * 31 + 7) % 5000}] * a + (x[{(i * 17 + 3) % 5000}] >> {i % 31});\n" for i in range(n))
    return "void f(unsigned *x, unsigned a)\n{\n" + body + "}\n"


SHAPES = {shape.__name__: shape for shape in (small, chain, ways_out, switch, straight)}


def measure(words):
    """Runs a command. Returns its exit code, CPU seconds and peak memory in MiB."""
    child = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def main():
    joulec, lines = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100000
    with tempfile.TemporaryDirectory() as folder:
        source, output = os.path.join(folder, "a.c"), os.path.join(folder, "a.o")
        for name in sys.argv[3:] or SHAPES:
            text = SHAPES[name](lines)
            with open(source, "w", encoding="utf-8") as file:
                file.write(text)
            for option in ([], ["--energy-check"]):
                code, seconds, mib = measure([joulec, *option, "-O2", "-I", INCLUDE, "-c", source, "-o", output])
                print(f"{name:10} {text.count(chr(10)):7} lines {' '.join(option) or 'clang alone':15} exit {code}  "
                      f"{seconds:6.1f} s CPU  {mib:6.0f} MiB", flush=True)


if __name__ == "__main__":
    main()
