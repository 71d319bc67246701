#!/usr/bin/env python3
"""Checks JOULE_ENERGY_JSON: any program that uses libjoule writes one line at normal exit, and nothing else.

The program is Python, which loads libjoule by ctypes. It makes no final call to libjoule and contains no code
of this project, so the report must be written without its help. Note: the report at exit is the library's
only output, so most tests check that nothing is printed.
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

from run_support import check, sanitizer_of, skip

BUILD = os.environ["JOULE_BUILD"]
JOULE = os.path.abspath(os.environ["JOULE"])
LIBRARY = os.path.join(BUILD, "src", "libjoule.so")

LOAD = f"""
import ctypes, os, sys, time
joule = ctypes.CDLL({LIBRARY!r})
joule.joule_current_power_watts.restype = ctypes.c_double
class Region(ctypes.Structure):
    _fields_ = [("begin_ns", ctypes.c_uint64), ("end_ns", ctypes.c_uint64), ("tag", ctypes.c_uint32),
                ("flags", ctypes.c_uint32), ("slot", ctypes.c_uint32), ("serial", ctypes.c_uint32)]
joule.joule_begin.restype = Region
def busy(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
"""


def run(code, variable, expect=0, prefix=()):
    environment = {k: v for k, v in os.environ.items() if k != "JOULE_ENERGY_JSON"}
    environment["JOULE_SOURCES"] = "estimated"
    if variable is not None:
        environment["JOULE_ENERGY_JSON"] = variable
    done = subprocess.run([*prefix, sys.executable, "-c", LOAD + code], capture_output=True, text=True, env=environment)
    assert done.returncode == expect, (done.returncode, done.stderr)
    assert done.stdout == "", done.stdout
    return done.stderr


def lines(code, variable="1", expect=0, prefix=()):
    return [json.loads(line) for line in run(code, variable, expect, prefix).splitlines()]


def test_one_report_is_one_line():
    reports = lines("busy(0.3)")
    check(len(reports) == 1, reports)
    check(reports[0]["schema"] == "joule-report-1", reports[0])
    check(0.25 < reports[0]["duration_seconds"] < 60, reports[0]["duration_seconds"])
    check(reports[0]["total_energy_joules"] > 0, reports[0]["total_energy_joules"])
    check(reports[0]["gross"]["class"] == "modelled", reports[0]["gross"])
    check(reports[0]["devices"][0]["measurement"] == "estimated", reports[0]["devices"])


def test_regions_are_reported_as_functions():
    report = lines("region = joule.joule_begin(joule.joule_tag(b'warm up'))\n"
                   "busy(0.5)\n"
                   "joule.joule_end(ctypes.byref(region))\n")[0]
    function = report["functions"][0]
    check(function["name"] == "warm up" and function["count"] == 1, function)
    check(function["energy_joules"] > 0 and function["device"] == "cpu", function)
    check(function["budget_joules"] is None and function["status"] is None, function)


def test_below_joule_run_figures_are_those_of_the_parent(folder):
    """The program still joins the session of `joule run`. The parent measures, and the program's regions are
    stored in the session."""
    path = os.path.join(folder, "parent.json")
    report = lines("region = joule.joule_begin(joule.joule_tag(b'warm up'))\n"
                   "busy(0.3)\n"
                   "joule.joule_end(ctypes.byref(region))\n",
                   prefix=[JOULE, "run", "-q", "--sources", "estimated", "--json", path, "--"])[0]
    check(report["gross"]["cover"] == "as measured by the parent" and report["functions"] == [], report)
    with open(path, encoding="utf-8") as file:
        parent = json.load(file)
    os.remove(path)
    check([f["name"] for f in parent["functions"]] == ["warm up"], parent["functions"])


def test_loaded_with_the_program():
    """If libjoule is loaded with the program, its exit handlers run with its destructors. The meter must
    still exist when the report is written."""
    report = lines("busy(0.3)", prefix=["env", "LD_PRELOAD=" + LIBRARY])[0]
    check(report["overhead"]["cpu_seconds"] > 0, report["overhead"])


def test_nothing_is_written_unless_requested():
    check(run("", None) == "")
    check(run("", "") == "")
    check(run("", "0") == "")
    check(run("os._exit(0)", "1") == "", "no report where the program does not end normally")


def test_power_at_the_first_call():
    check(run("print(joule.joule_current_power_watts() > 0, file=sys.stderr)", None) == "True\n")


def test_without_energy_sensors_measuring_is_absent_not_pending():
    check(run("os.environ['JOULE_SOURCES'] = 'thermal'\n"
              "room = ctypes.create_string_buffer((256).to_bytes(4, sys.byteorder), 256)\n"
              "status = joule.joule_measure(ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None), None, room)\n"
              "joule.joule_status_name.restype = ctypes.c_char_p\n"
              "print(joule.joule_status_name(status), file=sys.stderr)\n", None) == "b'absent'\n")


def test_exit_status_is_kept():
    check(len(lines("sys.exit(3)", expect=3)) == 1)


def test_each_measuring_child_writes_a_report():
    fork = "child = os.fork()\nif child == 0:\n    {}\n    sys.exit(0)\nos.waitpid(child, 0)\n"
    check(len(lines(fork.format("pass"))) == 1, "a child that did not measure writes nothing")
    reports = lines(fork.format("joule.joule_current_power_watts(); busy(0.2)"))
    check(len(reports) == 2, reports)
    check(reports[0]["duration_seconds"] < reports[1]["duration_seconds"], "the child's own time")


def test_a_childs_regions(folder):
    """Each process with regions writes its own report. A child does not write to the report file of its
    parent."""
    code = ("tag = joule.joule_tag(b'before')\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "    region = joule.joule_begin(joule.joule_tag(b'in child'))\n"
            "    busy(0.3)\n"
            "    joule.joule_end(ctypes.byref(region))\n"
            "    sys.exit(0)\n"
            "os.waitpid(child, 0)\n")
    check(run(code, os.path.join(folder, "child-%p.json")) == "")
    reports = sorted((json.load(open(name, encoding="utf-8")) for name in glob.glob(os.path.join(folder, "child-*.json"))),
                     key=lambda report: report["duration_seconds"])
    check([[f["name"] for f in report["functions"]] for report in reports] == [["in child"], []], reports)
    check(reports[0]["functions"][0]["energy_joules"] > 0, reports[0])
    path = os.path.join(folder, "one.json")
    message = run(code + "time.sleep(0.1); os._exit(0)", path)
    check("%p" in message and message.count("\n") == 1 and not os.path.exists(path), message)


def test_name_patterns_of_files_are_expanded(folder):
    check(run("", os.path.join(folder, "energy-%p-%%-%d.json")) == "")
    names = glob.glob(os.path.join(folder, "*.json"))
    check(len(names) == 1, names)
    first, process, percent = os.path.basename(names[0]).split("-")[:3]
    check(first == "energy" and process.isdigit() and percent == "%", names)
    check(names[0].endswith("-%d.json"), names)
    with open(names[0], encoding="utf-8") as file:
        text = file.read()
    check(text.count("\n") == 1 and text.endswith("\n"))
    check(json.loads(text)["schema"] == "joule-report-1")


def test_unwritable_file_gives_one_message(folder):
    path = os.path.join(folder, "missing", "x.json")
    message = run("", path)
    check(message.count("\n") == 1 and path in message and "No such file" in message, message)
    path = os.path.join(folder, "large.json")
    limited = "import resource, signal\nresource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n" \
              "signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n"
    message = run(limited, path)
    check(message.count("\n") == 1 and path in message and "File too large" in message, message)
    check(not os.path.exists(path) and not os.path.exists(path + ".partial"))


def main():
    if not os.path.exists(LIBRARY):
        skip(f"no shared library in {BUILD}")
    if sanitizer_of(LIBRARY):
        skip("Python cannot load a library with a sanitizer")
    test_one_report_is_one_line()
    test_regions_are_reported_as_functions()
    test_loaded_with_the_program()
    test_nothing_is_written_unless_requested()
    test_exit_status_is_kept()
    test_power_at_the_first_call()
    test_without_energy_sensors_measuring_is_absent_not_pending()
    test_each_measuring_child_writes_a_report()
    with tempfile.TemporaryDirectory() as folder:
        test_below_joule_run_figures_are_those_of_the_parent(folder)
        test_name_patterns_of_files_are_expanded(folder)
        test_a_childs_regions(folder)
        test_unwritable_file_gives_one_message(folder)


if __name__ == "__main__":
    main()
