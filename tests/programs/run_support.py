"""What the tests of `joule run` share: how to start it, how to wait for things, how to be skipped."""
import os
import sys
import time
import unittest

JOULE = os.path.abspath(os.environ.get("JOULE", "build/release/tools/joule/joule"))
PYTHON = sys.executable
PATIENCE_S = 20  # how long something that must happen may take on a busy machine


def joule_run(*words):
    """The words of `joule run` with a command and no report of its own."""
    return [JOULE, "run", "--quiet", *words]


def wait_until(condition, what):
    """Polls until condition() is true, and gives its value; fails loudly, for tests must end."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"waited {PATIENCE_S} s in vain for {what}")


def read_file(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def children_of(pid):
    return [int(word) for word in read_file(f"/proc/{pid}/task/{pid}/children").split()]


def state_of(pid):
    """The letter of a process's state; '' when there is none."""
    stat = read_file(f"/proc/{pid}/stat")
    return stat.rsplit(")", 1)[1].split()[0] if stat else ""


def main():
    """Runs the tests of the calling script; 77 when every one was skipped."""
    program = unittest.main(module="__main__", exit=False, verbosity=2)
    result = program.result
    for _, reason in result.skipped:
        print(f"skipped: {reason}")
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.testsRun and len(result.skipped) == result.testsRun else 0)
