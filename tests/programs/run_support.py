"""Support for program tests, mainly of `joule run`: starts programs, waits for conditions, and skips tests.
"""
import functools
import os
import sys
import tempfile
import threading
import time
import unittest

JOULE = os.path.abspath(os.environ.get("JOULE", "build/release/tools/joule/joule"))
PYTHON = sys.executable
SOURCE = os.environ.get("JOULE_SOURCE", ".")
BUILD = os.path.abspath(os.environ.get("JOULE_BUILD", "build/release"))
IS_FULL = os.environ.get("JOULE_TEST_FULL", "0") not in ("", "0")  # requests the long form of tests
PATIENCE_S = 20  # maximum wait for an event on a busy machine


def joule_run(*words):
    """Returns the arguments of `joule run` for a command, without a report."""
    return [JOULE, "run", "--quiet", *words]


def recorded_machine(name):
    """Returns the path of the folder that was extracted from tests/fixtures/machines/NAME.ttar."""
    return os.path.join(BUILD, "tests", "machines", name)


def recorded_machines():
    """Returns the names of all recorded machines."""
    archives = os.listdir(os.path.join(SOURCE, "tests", "fixtures", "machines"))
    return sorted(name.removesuffix(".ttar") for name in archives if name.endswith(".ttar"))


def wait_until(condition, what):
    """Polls until condition() is true and returns its value; fails after a time limit."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"waited {PATIENCE_S} s in vain for {what}")


def patient(test):
    """Decorates a test that compares figures with a counter which a thread of the test moves: repeats it up to twice if it
    fails, because a busy machine may stop that thread for a while. A fault of the program shows each time."""
    @functools.wraps(test)
    def repeated(*arguments):
        for _ in range(2):
            try:
                return test(*arguments)
            except AssertionError:
                time.sleep(1)
        return test(*arguments)
    return repeated


def check(condition, *what):
    """Raises AssertionError with `what` unless the condition holds, also with python -O."""
    if not condition:
        raise AssertionError(what)


def read_file(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def children_of(pid):
    return [int(word) for word in read_file(f"/proc/{pid}/task/{pid}/children").split()]


def state_of(pid):
    """Returns the letter of a process's state; '' if the process does not exist."""
    stat = read_file(f"/proc/{pid}/stat")
    return stat.rsplit(")", 1)[1].split()[0] if stat else ""


class Machine:
    """A recorded machine with one CPU package. Its energy counter runs at a given power while the object is
    open."""

    def __init__(self, watts):
        self.watts = watts
        self.offset_joules = 0
        self.folder = tempfile.TemporaryDirectory()
        self.root = self.folder.name
        self.zone = os.path.join(self.root, "sys/class/powercap/intel-rapl:0")
        os.makedirs(self.zone)
        for name, value in (("name", "package-0"), ("max_energy_range_uj", "262143328850"), ("energy_uj", f"{0:015d}")):
            with open(os.path.join(self.zone, name), "w", encoding="utf-8") as file:
                file.write(value + "\n")
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.count)

    def count(self):
        counter = os.open(os.path.join(self.zone, "energy_uj"), os.O_WRONLY)
        start = time.monotonic()
        while not self.stop.wait(0.001):
            os.pwrite(counter, b"%015d\n" % int(((time.monotonic() - start) * self.watts + self.offset_joules) * 1e6), 0)
        os.close(counter)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()
        self.folder.cleanup()


def sanitizer_of(path):
    """Returns the sanitizer of a library or program: "address", "thread" or None."""
    with open(path, "rb") as file:
        code = file.read()
    return next((name for sign, name in ((b"__asan_init", "address"), (b"__tsan_init", "thread")) if sign in code), None)


def skip(reason):
    """Ends the script as skipped."""
    print("skipped:", reason)
    sys.exit(77)


def main():
    """Runs the calling script's tests; exits with 77 if all of them were skipped."""
    program = unittest.main(module="__main__", exit=False, verbosity=2)
    result = program.result
    for _, reason in result.skipped:
        print(f"skipped: {reason}")
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.testsRun and len(result.skipped) == result.testsRun else 0)
