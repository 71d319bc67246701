#!/usr/bin/env python3
"""Checks that every report is valid according to docs/report.schema.json, and that the schema refuses invalid
reports.

Note: the samples come from test_report_json, which fills reports by hand; the validator is Python's
jsonschema.
"""
import copy
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import schema_check

BUILD = os.environ["JOULE_BUILD"]


def samples(folder):
    writer = os.path.join(BUILD, "tests", "test_report_json")
    subprocess.run([writer], env={**os.environ, "REPORT_SAMPLES": folder}, check=True)
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        yield os.path.basename(path), json.load(open(path, encoding="utf-8"))


def report_at_exit():
    """Returns the report that JOULE_ENERGY_JSON requests from a real program on this machine: Python with
    libjoule."""
    library = os.path.join(BUILD, "src", "libjoule.so")
    with open(library, "rb") as file:
        if re.search(b"__[at]san_init", file.read()):
            return None
    done = subprocess.run([sys.executable, "-c", f"import ctypes; ctypes.CDLL({library!r})"], check=True,
                          capture_output=True, text=True, env={**os.environ, "JOULE_ENERGY_JSON": "1"})
    return json.loads(done.stderr)


def reports_of_runs(folder):
    """Returns reports of `joule run`: one run, several runs with a budget, a failing command, and a child of
    a session."""
    def run(*arguments, expect=0):
        path = os.path.join(folder, "run.json")
        done = subprocess.run([os.environ["JOULE"], "run", "--json", path, *arguments], capture_output=True, text=True)
        assert done.returncode == expect, (arguments, done.returncode, done.stderr)
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    yield run("--", "true")
    yield run("-r", "2", "--budget", "100kJ", "--label", "commit=1", "--", "sleep", "0.1")
    yield run("--", "sh", "-c", "kill -9 $$", expect=-9)
    own = os.path.join(folder, "own.json")
    library = os.path.join(BUILD, "src", "libjoule.so")
    code = f"import ctypes, time; ctypes.CDLL({library!r}); time.sleep(0.3)"
    if report_at_exit():
        yield run("--", "env", "JOULE_ENERGY_JSON=" + own, sys.executable, "-c", code)
        with open(own, encoding="utf-8") as file:
            yield json.load(file)


def broken(report):
    """Yields invalid reports, each with its error."""
    def change(description, edit):
        bad = copy.deepcopy(report)
        edit(bad)
        return description, bad
    yield change("unknown key", lambda r: r.update(watts=1))
    yield change("missing key", lambda r: r.pop("total_energy_joules"))
    yield change("unknown class", lambda r: r["gross"].update({"class": "guessed"}))
    yield change("unknown measurement", lambda r: r["devices"][0].update(measurement="magic"))
    yield change("unknown status", lambda r: r["functions"][0].update(status="fine"))
    yield change("text for a number", lambda r: r.update(duration_seconds="1"))
    yield change("half an interval", lambda r: r["gross"].update(interval_joules=[1]))
    yield change("share over 1", lambda r: r["command"].update(share=1.5))
    yield change("label that is no text", lambda r: r["labels"].update(n=1))
    yield change("other schema", lambda r: r.update(schema="joule-report-2"))


def spec_keys(report):
    """Returns every key of the two published examples."""
    for key in ("program", "timestamp", "devices", "total_energy_joules", "functions"):
        assert key in report, key
    for key in ("type", "vendor", "model", "index", "energy_joules", "measurement", "tier"):
        assert key in report["devices"][0], key
    for key in ("name", "energy_joules", "device", "confidence", "budget_joules", "status"):
        assert key in report["functions"][0], key


def main():
    validator = schema_check.validator("report")
    count = refused = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, report in samples(folder):
            validator.validate(report)
            count += 1
            if name == "server.json":
                spec_keys(report)
                for description, bad in broken(report):
                    assert not validator.is_valid(bad), "the schema lets pass: " + description
                    refused += 1
    assert count == 3, count
    with tempfile.TemporaryDirectory() as folder:
        for report in reports_of_runs(folder):
            validator.validate(report)
            count += 1
    live = report_at_exit()
    if live:
        validator.validate(live)
    print(f"{count + bool(live)} reports are valid, {refused} broken ones are refused")


if __name__ == "__main__":
    main()
