"""Servers for program tests: `joule serve` on a recorded machine whose counters the test sets.

Starts, queries and ends them by process id, on ports that the system chooses. Note: a machine is read while
it changes, so a counter is written in place with one write.
"""
import contextlib
import http.client
import os
import re
import signal
import subprocess
import time

JOULE = os.environ["JOULE"]
ZONE = "sys/class/powercap/intel-rapl:"


class Machine:
    """A machine with two packages. The test sets the counter of one; the other cannot be read."""

    def __init__(self, folder):
        self.root = folder
        self.microjoules = 1_000_000
        self.write("proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n\n")
        self.write("proc/sys/kernel/hostname", "node-7\n")
        for number in "01":
            self.write(f"{ZONE}{number}/name", f"package-{number}\n")
            self.write(f"{ZONE}{number}/max_energy_range_uj", "262143328850\n")
            self.write(f"{ZONE}{number}/energy_uj", f"{self.microjoules}\n")
        self.write("errors", f"/{ZONE}1/energy_uj EACCES\n")

    def write(self, path, text):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def use(self, joules, seconds):
        """Advances the counter in equal steps that are small enough for a real processor. Each write replaces
        the previous value in the same file."""
        steps = round(seconds / 0.02)
        with open(os.path.join(self.root, f"{ZONE}0/energy_uj"), "r+b", buffering=0) as file:
            for _ in range(steps):
                self.microjoules += round(joules / steps * 1e6)
                os.pwrite(file.fileno(), b"%d\n" % self.microjoules, 0)
                time.sleep(0.02)


class Server:
    def __init__(self, *arguments, listen="127.0.0.1:0", **environment):
        self.process = subprocess.Popen([JOULE, "serve", "--listen", listen, *arguments], stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **environment})
        self.messages = ""
        for line in self.process.stderr:
            self.messages += line
            if "listening on" in line:
                break
        found = re.search(r"listening on https?://(\S+)/ ", self.messages)
        assert found, self.messages
        self.address = found[1]

    def get(self, path, method="GET", **headers):
        connection = http.client.HTTPConnection(self.address, timeout=20)
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, response.headers, body.decode()

    def metrics(self, **headers):
        status, _, body = self.get("/metrics", **headers)
        assert status == 200, status
        return body

    def resident_kib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read())[1])

    def end(self, signal_number=signal.SIGTERM):
        """Ends the server with a signal. Returns its exit status and output."""
        self.process.send_signal(signal_number)
        self.messages += self.process.stderr.read()
        self.process.stderr.close()
        return self.process.wait(20)


@contextlib.contextmanager
def serving(*arguments, **environment):
    server = Server(*arguments, **environment)
    try:
        yield server
    finally:
        if server.process.returncode is None:
            server.end()


def value_of(page, series):
    """Returns the value of a sample; None if the page does not contain it."""
    found = re.search("^" + re.escape(series) + r" (\S+)$", page, re.M)
    return float(found[1]) if found else None
