#!/usr/bin/env python3
"""Checks NVIDIA boards if the driver's library cannot be loaded: joule then runs a fake nvidia-smi."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import schema_check
from run_support import check

JOULE = os.environ["JOULE"]
FIXTURES = os.path.join(os.environ["JOULE_SOURCE"], "tests", "fixtures", "nvidia_smi")

# Acts like the driver's program: prints a table of the requested fields without units, a description, or a
# list.
STAND_IN = f"""#!{sys.executable}
import os, sys, time
mode, argument = os.environ.get("SMI_MODE", ""), sys.argv[1]
if mode == "hang":
    time.sleep(1000)
if mode == "no driver":
    print("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.")
    sys.exit(9)
def fixture(name):
    with open(os.path.join({FIXTURES!r}, name), encoding="utf-8") as file:
        return file.read()
if argument == "-q":
    print(fixture("470.xml").replace("00000000:3B:00.0", "00000000:65:00.0"))
elif argument == "-L":
    print(fixture("mig.list"))
elif argument.startswith("--query-gpu="):
    heading, *rows = [[cell.strip() for cell in line.split(",")] for line in fixture("boards.csv").splitlines()]
    heading = [name.split()[0] for name in heading]
    for name in argument.split("=", 1)[1].split(","):
        if name not in heading or (mode == "old" and name.startswith(("power.draw.", "module."))):
            print(f'Field "{{name}}" is not a valid field to query.\\n')
            sys.exit(2)
    for row in rows:
        print(", ".join(row[heading.index(name)].removesuffix(" W").removesuffix(" MiB").removesuffix(" MHz").removesuffix(" %")
                        for name in argument.split("=", 1)[1].split(",")))
else:
    sys.exit(2)
"""


def devices(folder, *arguments, mode="", **environment):
    done = subprocess.run([JOULE, "devices", "--sources", "nvidia_smi", *arguments], capture_output=True, text=True, check=True,
                          env={**os.environ, "PATH": folder + ":" + os.environ["PATH"], "SMI_MODE": mode,
                               "JOULE_NVML_LIB": "/nowhere/libnvidia-ml.so.1", **environment})
    return done.stdout


def test_boards_are_listed_with_their_facts(folder, schema):
    listing = json.loads(devices(folder, "--json"))
    schema.validate(listing)
    l4, a100, mx = listing["devices"]
    check([d["device"] for d in listing["devices"]] == ["gpu:0", "gpu:1", "gpu:2"], listing["devices"])
    check((l4["model"], l4["architecture"], l4["compute_capability"], l4["driver"]) ==
          ("NVIDIA L4", "Ada Lovelace", "8.9", "nvidia 560.28.03"), l4)
    check(l4["pci_address"] == "0000:65:00.0" and l4["memory_total_bytes"] == 23034 << 20, l4)
    check(l4["power_limit_watts"] == 72 and l4["power_limit_least_watts"] == 40, l4)
    check([p["pid"] for p in l4["processes"]] == [4242, 77], "from the description", l4)
    check(a100["processes"] is None and a100["utilisation"] is None, a100)
    check(mx["power_limit_watts"] is None, mx)
    power = next(d for d in listing["domains"] if d["name"] == "gpu-0-power")
    check(power["source"] == "nvidia_smi" and power["state"] in ("ok", "pending"), power)
    table = devices(folder)
    for words in ("NVIDIA L4", "22.5 GiB of memory", "NVIDIA GeForce MX450", "reports no power"):
        check(words in " ".join(table.split()), words, table)


def test_older_driver_lists_boards(folder):
    listing = json.loads(devices(folder, "--json", mode="old"))
    check([d["model"] for d in listing["devices"]] == ["NVIDIA L4", "NVIDIA A100-SXM4-40GB", "NVIDIA GeForce MX450"], listing)


def test_missing_or_hanging_program_gives_no_board(folder):
    for mode, environment, state in (("no driver", {}, "absent"), ("", {"JOULE_NVIDIA_SMI": "/nowhere/nvidia-smi"}, "absent"),
                                     ("hang", {}, "pending")):
        listing = json.loads(devices(folder, "--json", mode=mode, **environment))
        check(listing["devices"] == [] and [s["state"] for s in listing["sources"]] == [state], mode, listing)


def test_recorded_description_lists_boards(folder):
    """Checks a machine whose nvidia-smi prints only the description."""
    os.makedirs(os.path.join(folder, "root", "run"))
    with open(os.path.join(folder, "root", "run", "commands"), "w", encoding="utf-8") as file:
        file.write("description 0 nvidia-smi -q -x\nlist 0 nvidia-smi -L\n")
    for name, fixture in (("description", "535.xml"), ("list", "mig.list")):
        shutil.copy(os.path.join(FIXTURES, fixture), os.path.join(folder, "root", "run", name))
    board, = json.loads(devices(folder, "--json", "--root", os.path.join(folder, "root")))["devices"]
    check(board["model"] == "NVIDIA A100-PCIE-40GB" and [p["instance"] for p in board["partitions"]] == [1, 13], board)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "nvidia-smi")
        with open(path, "w", encoding="utf-8") as file:
            file.write(STAND_IN)
        os.chmod(path, 0o755)
        schema = schema_check.validator("devices")
        test_boards_are_listed_with_their_facts(folder, schema)
        test_older_driver_lists_boards(folder)
        test_missing_or_hanging_program_gives_no_board(folder)
        test_recorded_description_lists_boards(folder)


main()
