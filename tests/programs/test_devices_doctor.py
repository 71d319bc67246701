#!/usr/bin/env python3
"""Checks `joule devices` and `joule doctor` as programs: on this machine, on recorded ones, and with wrong
arguments."""
import contextlib
import fcntl
import json
import os
import pty
import struct
import subprocess
import tempfile
import termios
import threading
import time

import schema_check
from run_support import check

JOULE = os.environ["JOULE"]
LEVEL_ZERO = os.path.abspath(os.path.join(os.environ["JOULE_BUILD"], "tests", "fakes", "level_zero", "1.17", "libze_loader.so.1"))
NVML = os.path.abspath(os.path.join(os.environ["JOULE_BUILD"], "tests", "fakes", "nvml", "580", "libnvidia-ml.so.1"))


def joule(*arguments, expect=0, **environment):
    done = subprocess.run([JOULE, *arguments], capture_output=True, text=True, env={**os.environ, **environment})
    assert done.returncode == expect, (arguments, done.returncode, done.stdout, done.stderr)
    return done


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


def test_this_machine_is_listed_as_in_the_schema(devices, doctor):
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
        if domain["reading"] in ("clock", "temperature"):
            value = domain["clock_megahertz" if domain["reading"] == "clock" else "temperature_celsius"]
            check((domain["state"] == "ok") == (value is not None), domain)
    check("\033" not in table + joule("doctor").stdout, "no colour without a terminal")


def test_the_variable_is_for_others():
    """JOULE_ENERGY_JSON has no effect on joule itself. It only affects programs that joule runs."""
    check(joule("doctor", JOULE_ENERGY_JSON="1").stderr == "")


def test_denied_zone_is_shown_with_a_remedy(root, devices, doctor):
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


@contextlib.contextmanager
def counting(path):
    """Advances an energy counter at 20 W."""
    stop = threading.Event()

    def count():
        counter, start = os.open(path, os.O_WRONLY), time.monotonic()
        while not stop.wait(0.001):
            os.pwrite(counter, b"%015d\n" % int((time.monotonic() - start) * 20e6), 0)
        os.close(counter)
    thread = threading.Thread(target=count)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_moving_counter_makes_the_machine_fine(root, doctor):
    machine(root, {**LAPTOP, "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n"})
    still = json.loads(joule("doctor", "--json", "--root", root).stdout)
    doctor.validate(still)
    check(not still["fine"] and "counter_still" in [f["id"] for f in still["findings"]], still)
    check(joule("doctor", "--root", root).stdout.startswith("No energy counter changes"))
    with counting(os.path.join(root, ZONE, "energy_uj")):
        found = json.loads(joule("doctor", "--json", "--root", root).stdout)
        doctor.validate(found)
        check(found["fine"] and found["cpu_class"] == "measured", found)
        check(joule("doctor", "--root", root).stdout.startswith("Everything is fine."))


def pci(root, address, vendor, kind, driver=None):
    folder = f"sys/bus/pci/devices/{address}"
    machine(root, {folder + "/vendor": vendor + "\n", folder + "/class": kind + "\n"})
    if driver:
        os.symlink(f"../../../../bus/pci/drivers/{driver}", os.path.join(root, folder, "driver"))


def test_gpus_of_a_recorded_machine(root, doctor):
    hwmon = "sys/class/hwmon/hwmon0/"
    machine(root, {**LAPTOP, hwmon + "name": "xe\n", hwmon + "energy1_input": "16000000\n", "sys/module/xe/refcnt": "2\n"})
    os.symlink("../../../devices/pci0000:00/0000:00:01.0/0000:83:00.0", os.path.join(root, hwmon, "device"))
    pci(root, "0000:00:02.0", "0x8086", "0x030000")  # a graphics unit integrated in the processor
    pci(root, "0000:03:00.0", "0x1002", "0x030000")
    pci(root, "0000:43:00.0", "0x1002", "0x038000")
    pci(root, "0000:63:00.0", "0x1002", "0x120000", "amdgpu")
    pci(root, "0000:73:00.0", "0x8086", "0x030000")
    pci(root, "0000:83:00.0", "0x8086", "0x030000", "xe")
    found = json.loads(joule("doctor", "--json", "--root", root).stdout)
    doctor.validate(found)
    ids = {f["id"]: f for f in found["findings"] if "_gpu_" in f["id"]}
    check(sorted(ids) == ["amd_gpu_no_driver", "amd_gpu_no_meter", "intel_gpu_energy", "intel_gpu_not_taken"], ids)
    check("GPUs (0000:03:00.0, 0000:43:00.0)" in ids["amd_gpu_no_driver"]["what"], ids)
    check("0000:73:00.0" in ids["intel_gpu_not_taken"]["what"], ids)
    check("0000:00:02.0" not in str(ids), "graphics inside the processor are in its energy", ids)


def test_doctor_knows_how_run_counts(root, doctor):
    """Runs as the current user. If this is root, runs also as the user nobody. doctor must report a problem
    with cgroups if and only if `joule run` does not use cgroups."""
    users = [None] + ([65534] if os.getuid() == 0 else [])
    for user in users:
        with tempfile.TemporaryDirectory(dir=root) as folder:
            os.chmod(root, 0o755)
            os.chmod(folder, 0o777)
            report = os.path.join(folder, "report.json")
            arguments = dict(user=user, group=user, extra_groups=[]) if user else {}
            try:
                subprocess.run([JOULE, "run", "--json", report, "--", "true"], capture_output=True, check=True, **arguments)
            except PermissionError:
                print("not tried as nobody: permission denied to run", JOULE)
                continue
            done = subprocess.run([JOULE, "doctor", "--json"], capture_output=True, check=True, **arguments)
            with open(report, encoding="utf-8") as file:
                method = json.load(file)["command"]["method"]
            found = json.loads(done.stdout)
            doctor.validate(found)
            texts = [f["what"] for f in found["findings"] if f["id"].startswith("cgroup_")]
            check(len(texts) == (method != "cgroup") and all(f"({method})" in what for what in texts), user, method, texts)


def test_names_cannot_drive_the_terminal(root):
    machine(root, {**LAPTOP, "proc/cpuinfo": CPU.replace("w9-3595X", "w9\033[2J")})
    check("\033" not in joule("devices", "--root", root).stdout)
    listing = json.loads(joule("devices", "--json", "--root", root).stdout)
    check(any("\033" in (d["model"] or "") for d in listing["domains"]), "JSON keeps what was there, escaped")


def boards(script, *arguments):
    return joule("devices", "--sources", "nvml", *arguments, JOULE_NVML_LIB=NVML, JOULE_FAKE_NVML=script).stdout


def test_nvidia_boards_show_processes_instances_and_denial(devices):
    """Checks three boards: one with processes, one split into instances, and one without permission."""
    script = "boards=3; duty=1; 0.processes=3; 0.limit_watts=500; 1.mig=2; 2.denied=1"
    listing = json.loads(boards(script, "--json"))
    devices.validate(listing)
    plain, cut, refused = listing["devices"]
    check([d["device"] for d in listing["devices"]] == ["gpu:0", "gpu:1", "gpu:2"], listing["devices"])
    check((plain["model"], plain["compute_capability"], plain["driver"]) ==
          ("NVIDIA Fake H200", "9.0", "nvidia 580.00.00"), plain)
    check(plain["uuid"] == next(d["uuid"] for d in listing["domains"] if d["name"] == "gpu-0"), plain)
    check(plain["pci_address"] == "0000:65:00.0" and plain["memory_total_bytes"] == 143771 << 20, plain)
    check(plain["power_limit_watts"] == 500 and plain["power_limit_least_watts"] == 200, plain)
    check([p["pid"] for p in plain["processes"]] == [1000, 1001, 1002] and plain["partitions"] == [], plain)
    check([p["instance"] for p in cut["partitions"]] == [7, 8] and cut["utilisation"] is None, cut)
    check(refused["state"] == "denied" and refused["processes"] is None, refused)
    check(all(refused[key] is None for key in plain if key.startswith(("power_", "memory_", "energy_")) or key == "uuid"),
          refused)
    table = boards(script)
    for words in (plain["uuid"], "compute capability 9.0", "140.4 GiB of memory, 1.0 GiB used, 3 processes",
                  "power limit 500 W", "clocks limited by: power limit", cut["partitions"][1]["uuid"],
                  "gpu-2 (denied)"):
        check(words in table, words, table)
    check([line.split()[0] for line in table.splitlines() if line.startswith("  gpu-")][0] == "gpu-0", table)


def test_intel_gpus_show_values_and_denial(devices):
    """Checks a GPU with all values, one whose joules are denied, and a neural processor."""
    script = "cards=3; engine_all=0; busy=0.4; copy_busy=0.9; used_gib=3; 1.energy=-2; 2.type=5"
    listing = json.loads(joule("devices", "--json", "--sources", "level_zero", JOULE_LEVEL_ZERO_LIB=LEVEL_ZERO,
                               JOULE_FAKE_LEVEL_ZERO=script).stdout)
    devices.validate(listing)
    check([d["device"] for d in listing["devices"]] == ["gpu:0", "gpu:1"], listing["devices"])
    open_one, refused = listing["devices"]
    check((open_one["model"], open_one["vendor"], open_one["pci_address"]) ==
          ("Intel(R) Arc(TM) Pro B70 Graphics", "intel", "0000:03:00.0"), open_one)
    check(open_one["memory_used_bytes"] == 3 << 30 and open_one["power_limit_watts"] == 275, open_one)
    check(open_one["power_watts"] is not None and refused["power_watts"] is None, listing["devices"])
    check([d["state"] for d in listing["domains"] if d["name"] == "gpu-1"] == ["denied"], listing["domains"])


def test_driver_that_hangs(devices):
    listing = json.loads(boards("block_at_ms=0; block_s=30", "--json"))  # the library blocks in its first query
    devices.validate(listing)
    check(listing["devices"] == [], "what the driver does not say is unknown", listing["devices"])
    check([s["state"] for s in listing["sources"]] == ["pending"], listing["sources"])
    check("still searching for its hardware, or hanging" in " ".join(boards("block_at_ms=0; block_s=30").split()))
    check(json.loads(joule("devices", "--json", "--sources", "-nvml", JOULE_NVML_LIB=NVML).stdout)["devices"] == [])


def on_terminal(columns, *arguments, **environment):
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execve(JOULE, [JOULE, *arguments], {**os.environ, "NO_COLOR": "1", "TERM": "xterm", **environment})
    text = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    check(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, text)
    os.close(terminal)
    return text.decode().replace("\r", "")


def test_page_fits_the_terminal():
    fake = {"JOULE_NVML_LIB": NVML, "JOULE_FAKE_NVML": "boards=2; duty=1; 1.mig=2"}
    for columns in (80, 100, 200):
        lines = on_terminal(columns, "devices", "--sources", "nvml,estimated", **fake).splitlines()
        check(max(map(len, lines)) <= min(columns, 100), columns, lines)
        lines = on_terminal(columns, "doctor").splitlines()
        # Each command is on one line, however long it is.
        commands = [line for line in lines if line.startswith("      ")]
        check(max(len(line) for line in lines if line not in commands) <= min(columns, 100), columns, lines)


def test_colours_need_a_terminal_and_no_NO_COLOR(root):
    """Checks that every subcommand follows the same rules for colours."""
    record = os.path.join(root, "record")
    joule("record", "-q", "-o", record, "true")
    for arguments in (("run", "true"), ("report", record), ("devices",), ("doctor",)):
        for no_colour, term, expected in (("", "xterm", True), ("1", "xterm", False), ("", "dumb", False)):
            text = on_terminal(100, *arguments, NO_COLOR=no_colour, TERM=term)
            check(("\033[" in text) == expected, arguments, no_colour, term, text)


def test_wrong_arguments_are_refused():
    for program in ("devices", "doctor"):
        done = joule(program, "--jsn", expect=2)
        check("--json" in done.stderr, "the nearest option is named", done.stderr)
        check("surplus" in joule(program, "surplus", expect=2).stderr)
        check(joule(program, "--help").stdout.startswith("usage: joule " + program))
        done = joule(program, "--root", "/dev/null", expect=125)
        check("/dev/null" in done.stderr and not done.stdout, done)
    check("no_such_source" in joule("devices", "--sources", "no_such_source", expect=2).stderr)
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run([JOULE, "devices"], stdout=full, stderr=subprocess.PIPE, text=True)
    check(done.returncode == 125 and "standard output" in done.stderr, done)


def main():
    devices, doctor = schema_check.validator("devices"), schema_check.validator("doctor")
    test_this_machine_is_listed_as_in_the_schema(devices, doctor)
    test_the_variable_is_for_others()
    test_nvidia_boards_show_processes_instances_and_denial(devices)
    test_intel_gpus_show_values_and_denial(devices)
    test_driver_that_hangs(devices)
    test_page_fits_the_terminal()
    for test in (lambda root: test_denied_zone_is_shown_with_a_remedy(root, devices, doctor), lambda root: test_moving_counter_makes_the_machine_fine(root, doctor),
                 lambda root: test_gpus_of_a_recorded_machine(root, doctor),
                 lambda root: test_doctor_knows_how_run_counts(root, doctor),
                 test_names_cannot_drive_the_terminal, test_colours_need_a_terminal_and_no_NO_COLOR):
        with tempfile.TemporaryDirectory() as root:
            test(root)
    test_wrong_arguments_are_refused()


if __name__ == "__main__":
    main()
