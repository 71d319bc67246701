#!/usr/bin/env python3
"""Checks that Joule reads AMD's own librocm_smi64 (Debian's librocm-smi64-1) on a machine made of files.

In a mount namespace, /sys is an empty file system with one board, as the driver amdgpu shows it: files that
the library needs to start, sensors, and a gpu_metrics table whose energy counter runs at 200 W. Skipped
without permission to make the namespace, or without the library.
"""
import ctypes
import json
import os
import struct
import subprocess
import sys
import threading
import time

JOULE = os.path.abspath(os.environ.get("JOULE", "build/release/tools/joule/joule"))
LIBRARY = "librocm_smi64.so.1"
PCI = "0000:c1:00.0"
DEVICE = f"/sys/devices/pci0000:c0/{PCI}"
TOPOLOGY = "/sys/class/kfd/kfd/topology/nodes"
WATTS, COUNT_J = 200, 2.0**-16
SKIPPED = 77

FILES = {
    f"{DEVICE}/uevent": f"DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:73BF\nPCI_SLOT_NAME={PCI}\n",
    f"{DEVICE}/vendor": "0x1002", f"{DEVICE}/device": "0x73bf", f"{DEVICE}/vbios_version": "113-D4120100-100",
    f"{DEVICE}/subsystem_vendor": "0x1002", f"{DEVICE}/subsystem_device": "0x0e3a",
    f"{DEVICE}/unique_id": "0x1234567812345678", f"{DEVICE}/gpu_busy_percent": "42",
    f"{DEVICE}/mem_info_vram_total": "17163091968", f"{DEVICE}/mem_info_vram_used": "1073741824",
    f"{DEVICE}/drm/renderD128/dev": "226:128",
    f"{DEVICE}/hwmon/hwmon4/name": "amdgpu", f"{DEVICE}/hwmon/hwmon4/in0_label": "vddgfx",
    f"{DEVICE}/hwmon/hwmon4/in0_input": "800",
    f"{DEVICE}/hwmon/hwmon4/temp1_label": "edge", f"{DEVICE}/hwmon/hwmon4/temp1_input": "51000",
    f"{DEVICE}/hwmon/hwmon4/temp2_label": "junction", f"{DEVICE}/hwmon/hwmon4/temp2_input": "61000",
    f"{DEVICE}/hwmon/hwmon4/temp3_label": "mem", f"{DEVICE}/hwmon/hwmon4/temp3_input": "66000",
    f"{DEVICE}/hwmon/hwmon4/power1_average": "150000000", f"{DEVICE}/hwmon/hwmon4/power1_cap": "255000000",
    f"{TOPOLOGY}/0/gpu_id": "0", f"{TOPOLOGY}/0/io_links/none": "", f"{TOPOLOGY}/0/properties": "cpu_cores_count 16\n",
    f"{TOPOLOGY}/1/gpu_id": "12345", f"{TOPOLOGY}/1/name": "navi21", f"{TOPOLOGY}/1/io_links/none": "",
    f"{TOPOLOGY}/1/properties": f"simd_count 160\nlocation_id {0xc100}\ndomain 0\nhive_id 0\n"
                                "simd_arrays_per_engine 2\narray_count 8\ncu_per_simd_array 10\n",
}
LINKS = {
    "/sys/class/drm/card0": f"../../devices/pci0000:c0/{PCI}/drm/card0",
    f"{DEVICE}/drm/card0/device": f"../../../{PCI}",
    f"/sys/bus/pci/drivers/amdgpu/{PCI}": f"../../../../devices/pci0000:c0/{PCI}",
    f"/sys/bus/pci/devices/{PCI}": f"../../../devices/pci0000:c0/{PCI}",
}


def write_table():
    """Writes a table of revision 1.3: the energy counter is at byte 24, the clock at 32."""
    now_s = time.monotonic()
    table = bytearray(b"\xff" * 120)
    struct.pack_into("<HBB", table, 0, 120, 1, 3)
    struct.pack_into("<QQ", table, 24, int((1000 + WATTS * now_s) / COUNT_J), int(now_s * 1e9))
    with open(f"{DEVICE}/new", "wb") as file:
        file.write(table)
    os.replace(f"{DEVICE}/new", f"{DEVICE}/gpu_metrics")


def make_machine():
    subprocess.run(["mount", "-t", "tmpfs", "none", "/sys"], check=True)
    for path, text in FILES.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(text + "\n")
    for path, target in LINKS.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(target, path)
    write_table()


def devices(*words):
    done = subprocess.run([JOULE, "devices", "--json", *words], capture_output=True, text=True, check=True)
    return json.loads(done.stdout), done.stderr


def check(condition, *what):
    if not condition:
        raise AssertionError(what)


def check_board():
    listing, complaint = devices("--sources", "rocm_smi")
    check(complaint == "", complaint)
    check(len(listing["devices"]) == 1, listing)
    board = listing["devices"][0]
    check(board["pci_address"] == PCI and board["uuid"] == "GPU-1234567812345678", board)
    check(board["memory_total_bytes"] == 17163091968 and board["memory_used_bytes"] == 1073741824, board)
    check(board["temperature_celsius"] == 61 and board["memory_temperature_celsius"] == 66, board)
    check(abs(board["utilisation"] - 0.42) < 1e-9 and abs(board["power_limit_watts"] - 255) < 1e-9, board)
    by_name = {domain["name"]: domain for domain in listing["domains"]}
    check(by_name["gpu-0"]["reading"] == "energy" and by_name["gpu-0"]["source"] == "rocm_smi", by_name)
    check(abs(by_name["gpu-0-power"]["power_watts"] - 150) < 1e-9, by_name)


def check_energy():
    """Rewrites the table while energy is counted. If a rewrite is late, the energy of this time is
    missing."""
    stop = threading.Event()

    def renew():
        while not stop.wait(0.005):
            write_table()

    thread = threading.Thread(target=renew)
    thread.start()
    try:
        done = subprocess.run([JOULE, "run", "--json", "-", "--sources", "rocm_smi", "--", "sleep", "1"], capture_output=True,
                              text=True, check=True)
    finally:
        stop.set()
        thread.join()
    report = json.loads(done.stdout)
    watts = report["total_energy_joules"] / report["duration_seconds"]
    check(WATTS / 2 < watts < WATTS * 2, watts)


def check_not_loaded():
    """Checks that no library is loaded if the kernel's files alone describe this board."""
    listing, _ = devices()
    state = {source["name"]: source["state"] for source in listing["sources"]}
    check(state["rocm_smi"] == "absent" and state["amd_smi"] == "absent", state)


def main():
    if len(sys.argv) > 1:
        make_machine()
        check_not_loaded()
        check_board()
        check_energy()
        return 0
    with open(JOULE, "rb") as file:
        if b"__tsan_init" in file.read():
            print("skipped: the thread sanitizer does not know what the library's own threads and locks do")
            return SKIPPED
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        print(f"skipped: no {LIBRARY} (apt-get install librocm-smi64-1)")
        return SKIPPED
    if subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/sys"], capture_output=True).returncode != 0:
        print("skipped: no right to give /sys another content in a mount namespace")
        return SKIPPED
    return subprocess.run(["unshare", "-m", sys.executable, os.path.abspath(__file__), "inside"]).returncode


if __name__ == "__main__":
    sys.exit(main())
