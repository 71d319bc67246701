#!/usr/bin/env python3
"""Compares the cost of a scrape of `joule serve` with that of prometheus-node-exporter, in turns.

usage: bench/serve/scrape.py [SECONDS]

Starts the servers on free loopback ports and ends them. Joule runs three servers: one reads 16 boards of a fake
NVIDIA driver once per second, one reads them ten times per second, and one serves this machine. node-exporter
serves this machine, too. Prints a table and JSON lines. Note: CPU time is that of all threads of a process. The
time of a scrape includes the work of this client.
"""
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, os.environ.get("JOULE_BUILD", "build/release"))
JOULE = os.path.join(BUILD, "tools", "joule", "joule")
NVML = os.path.join(BUILD, "tests", "fakes", "nvml", "580", "libnvidia-ml.so.1")
FAKE = {"JOULE_NVML_LIB": NVML, "JOULE_FAKE_NVML": "boards=16; duty=0.5; gpm=1"}
ACCEPT = {"Accept": "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"}
BURST = 2000


class Served:
    def __init__(self, name, command, address=None, **environment):
        self.name = name
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE if not address else subprocess.DEVNULL, text=True,
                                        env={**os.environ, **environment})
        while not address:
            line = self.process.stderr.readline()
            found = re.search(r"listening on http://(\S+)/ ", line)
            address = found and found[1]
        self.address = address
        self.times, self.length = [], 0
        self.connect()

    def connect(self):
        for _ in range(100):
            try:
                self.connection = http.client.HTTPConnection(self.address, timeout=20)
                self.connection.connect()
                return
            except OSError:
                time.sleep(0.1)
        sys.exit(f"{self.name} does not answer")

    def scrape(self):
        begin = time.perf_counter()
        self.connection.request("GET", "/metrics", headers=ACCEPT)
        self.length = len(self.connection.getresponse().read())
        return time.perf_counter() - begin

    def cpu_s(self):
        total = 0
        for thread in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{thread}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
        return total * 1e-9

    def resident_mib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1]) / 1024

    def end(self):
        self.process.terminate()
        self.process.wait(20)


def quantile(times, share):
    return 1e3 * sorted(times)[min(len(times) - 1, int(share * len(times)))]


def servers():
    serve = [JOULE, "serve", "--listen", "127.0.0.1:0"]
    boards = ["--sources", "nvml"]
    list_ = [Served("joule, 16 boards, each 1 s", [*serve, *boards, "--period", "1s"], **FAKE),
             Served("joule, 16 boards, each 100 ms", [*serve, *boards], **FAKE),
             Served("joule, this machine, each 100 ms", serve)]
    exporter = shutil.which("prometheus-node-exporter")
    if exporter:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % free.getsockname()[1]
        list_.append(Served("node-exporter, this machine", [exporter, "--web.listen-address=" + address], address))
    else:
        print("prometheus-node-exporter: not measured: not installed")
    return list_


def main():
    seconds = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    all_ = servers()
    for served in all_:
        served.scrape()
    time.sleep(3)
    cpu = [served.cpu_s() for served in all_]
    begin = time.monotonic()
    for second in range(seconds):
        time.sleep(max(0, begin + second + 1 - time.monotonic()))
        for served in all_:
            served.times.append(served.scrape())
    wall = time.monotonic() - begin
    cpu = [served.cpu_s() - before for served, before in zip(all_, cpu)]
    print(f"{'':34}{'CPU %':>8}{'MiB':>8}{'kB':>6}{'p50 ms':>8}{'p99 ms':>8}{'burst p50':>11}{'p99':>8}  ({seconds} s at 1 Hz; {BURST} at once)")
    for served, used in zip(all_, cpu):
        resident = served.resident_mib()
        burst = [served.scrape() for _ in range(BURST)]
        row = {"bench": "serve", "who": served.name, "cpu_percent": 100 * used / wall, "resident_mib": resident,
               "bytes": served.length, "p50_ms": quantile(served.times, 0.5), "p99_ms": quantile(served.times, 0.99),
               "burst_p50_ms": quantile(burst, 0.5), "burst_p99_ms": quantile(burst, 0.99)}
        print(f"{served.name:34}{row['cpu_percent']:8.3f}{resident:8.1f}{served.length / 1000:6.0f}{row['p50_ms']:8.2f}"
              f"{row['p99_ms']:8.2f}{row['burst_p50_ms']:11.2f}{row['burst_p99_ms']:8.2f}")
        print(json.dumps(row))
    for served in all_:
        served.end()


if __name__ == "__main__":
    main()
