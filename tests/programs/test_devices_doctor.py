#!/usr/bin/env python3
"""`joule devices` and `joule doctor` as programs: on this machine, on recorded ones, and with wrong arguments."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.environ["JOULE_SOURCE"], "tests", "support"))
import schema_check  # noqa: E402

JOULE = os.environ["JOULE"]


def joule(*arguments, expect=0, **environment):
    done = subprocess.run([JOULE, *arguments], capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == expect, (arguments, done.returncode, done.stdout, done.stderr)
    return done


def check(condition, *what):
    if not condition:
        raise AssertionError(what)


def machine(root, files):
    for path, text in files.items():
        path = os.path.join(root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    return root


CPU = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n" \
      "model name\t: Intel(R) Xeon(R) w9-3595X\nflags\t\t: fpu tsc\n\n"
ZONE = "sys/class/powercap/intel-rapl:0/"
LAPTOP = {
    "proc/cpuinfo": CPU,
    "proc/self/status": "CapEff:\t0000000000000000\nCapBnd:\t000001ffffffffff\n",
    ZONE + "name": "package-0\n",
    ZONE + "max_energy_range_uj": "262143328850\n",
    ZONE + "energy_uj": "240422366267\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n",
    "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm\n",
}


def test_here(devices, doctor):
    listing = json.loads(joule("devices", "--json").stdout)
    devices.validate(listing)
    check(len(listing["sources"]) >= 5, "every source of the build is listed")
    check(any(s["name"] == "estimated" for s in listing["sources"]), listing["sources"])
    found = json.loads(joule("doctor", "--json").stdout)
    doctor.validate(found)
    table = joule("devices").stdout
    check(table.startswith("total now: "), table)
    for domain in listing["domains"]:
        check(domain["name"][:8] in table, domain["name"], table)
    check("\033" not in table + joule("doctor").stdout, "no colour where nobody looks")


def test_the_variable_is_for_others():
    """JOULE_ENERGY_JSON is for the programs that joule runs, not for joule."""
    check(joule("doctor", JOULE_ENERGY_JSON="1").stderr == "")


def test_refused_zone(root, devices, doctor):
    machine(root, {**LAPTOP, "errors": "/" + ZONE + "energy_uj EACCES\n"})
    listing = json.loads(joule("devices", "--json", "--root", root).stdout)
    devices.validate(listing)
    zone = next(d for d in listing["domains"] if d["source"] == "rapl_powercap")
    check(zone["state"] == "denied" and zone["remedy"] and zone["power_watts"] is None, zone)
    check(listing["total"]["partial"] is True, listing["total"])
    check(zone["remedy"].split(":")[0] in joule("devices", "--root", root).stdout.replace("\n    ", " "))
    found = json.loads(joule("doctor", "--json", "--root", root).stdout)
    doctor.validate(found)
    ids = {f["id"]: f for f in found["findings"]}
    check(not found["fine"] and "powercap_denied" in ids and ids["powercap_denied"]["command"], found)
    check(ids["clock_slow"]["command"].startswith("echo tsc"), ids)
    words = joule("doctor", "--root", root).stdout
    check(ids["powercap_denied"]["command"] in words, "commands are printed in one piece")


def test_fine_machine(root, doctor):
    machine(root, {**LAPTOP, "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n"})
    found = json.loads(joule("doctor", "--json", "--root", root).stdout)
    doctor.validate(found)
    check(found["fine"] and found["cpu_class"] == "measured", found)
    check(joule("doctor", "--root", root).stdout.startswith("Everything is fine."))


def test_names_cannot_drive_the_terminal(root):
    machine(root, {**LAPTOP, "proc/cpuinfo": CPU.replace("w9-3595X", "w9\033[2J")})
    check("\033" not in joule("devices", "--root", root).stdout)
    listing = json.loads(joule("devices", "--json", "--root", root).stdout)
    check(any("\033" in (d["model"] or "") for d in listing["domains"]), "JSON keeps what was there, escaped")


def test_wrong_arguments():
    for program in ("devices", "doctor"):
        done = joule(program, "--jsn", expect=2)
        check("--json" in done.stderr, "the nearest option is named", done.stderr)
        check("surplus" in joule(program, "surplus", expect=2).stderr)
        check(joule(program, "--help").stdout.startswith("usage: joule " + program))
        done = joule(program, "--root", "/dev/null", expect=125)
        check("/dev/null" in done.stderr and not done.stdout, done)
    check("no_such_source" in joule("devices", "--sources", "no_such_source", expect=125).stderr)
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([JOULE, "devices"], stdout=full, stderr=subprocess.PIPE, text=True)
    check(done.returncode == 125 and "standard output" in done.stderr, done)


def main():
    devices, doctor = schema_check.validator("devices"), schema_check.validator("doctor")
    test_here(devices, doctor)
    test_the_variable_is_for_others()
    for test in (lambda root: test_refused_zone(root, devices, doctor), lambda root: test_fine_machine(root, doctor),
                 test_names_cannot_drive_the_terminal):
        with tempfile.TemporaryDirectory() as root:
            test(root)
    test_wrong_arguments()


if __name__ == "__main__":
    main()
