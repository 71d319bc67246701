#!/usr/bin/env python3
"""Checks `joule serve` as a program: its answers, accepted clients, misbehaving clients, and its end.

Note: serving.py has the machines and servers; test_serve_prometheus.py tests with Prometheus.
"""
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import schema_check
from run_support import IS_FULL, sanitizer_of, skip
from serving import JOULE, Machine, serving, value_of

NVML = os.path.abspath(os.path.join(os.environ["JOULE_BUILD"], "tests", "fakes", "nvml", "580", "libnvidia-ml.so.1"))
OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"
PACKAGE = '{domain="package-0",device="cpu:0",source="rapl_powercap",scope="package",class="measured"}'


def usage(*arguments, **environment):
    return subprocess.run([JOULE, "serve", *arguments], capture_output=True, text=True, timeout=30,
                          env={**os.environ, **environment})


def stat(pid, name, ticks):
    return f"{pid} ({name}) S 1 0 0 0 0 0 0 0 0 0 {ticks:09.0f} 0 0 0 20 0 1 0 1 0 0\n"


class Serve(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.machine = Machine(os.path.join(self.folder, "machine"))
        self.options = ("--root", self.machine.root, "--sources", "rapl_powercap", "--period", "20ms")

    def test_energy_equals_the_counter(self):
        with serving(*self.options) as server:
            self.machine.use(joules=40, seconds=0.6)
            time.sleep(0.2)
            before = value_of(server.metrics(), "joule_energy_joules_total" + PACKAGE)
            self.machine.use(joules=50, seconds=1)
            time.sleep(0.2)
            page = server.metrics()
        self.assertAlmostEqual(value_of(page, "joule_energy_joules_total" + PACKAGE) - before, 50, delta=0.01)
        self.assertIn('joule_domain_state{domain="package-1",device="cpu:1",source="rapl_powercap",state="denied"} 1', page)
        self.assertIsNone(re.search(r'^joule_(energy|power)\S*domain="package-1"', page, re.M))

    def test_accept_header_chooses_the_format(self):
        with serving(*self.options) as server:
            self.machine.use(joules=20, seconds=0.5)
            _, headers, text = server.get("/metrics")
            self.assertEqual(headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
            _, headers, page = server.get("/metrics", Accept=OPENMETRICS)
            self.assertEqual(headers["Content-Type"], "application/openmetrics-text; version=1.0.0; charset=utf-8")
            self.assertTrue(page.endswith("\n# EOF\n"))
            self.assertNotIn("# EOF", text)
        if shutil.which("promtool"):
            done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        else:
            print("skipped: promtool check metrics: there is no promtool")
        try:
            from prometheus_client.openmetrics import parser
        except ImportError:
            print("skipped: OpenMetrics by prometheus_client: there is no python3-prometheus-client")
        else:
            families = {family.name: family for family in parser.text_string_to_metric_families(page)}
            self.assertEqual((families["joule_energy_joules"].type, families["joule_energy_joules"].unit), ("counter", "joules"))

    def test_names_pass_the_linters_rules(self):
        """Checks the rules of `promtool check metrics` without promtool. DCGM's names are exempt, because
        Joule does not choose them."""
        with serving(*self.options) as server:
            self.machine.use(joules=20, seconds=0.5)
            page = server.metrics()
        types = dict(re.findall(r"^# TYPE (joule_\S+) (\S+)$", page, re.M))
        helped = re.findall(r"^# HELP (joule_\S+) \S", page, re.M)
        self.assertEqual(sorted(types), sorted(helped))
        self.assertGreater(len(types), 10)
        short_units = {"s", "ms", "us", "ns", "sec", "b", "kb", "mb", "gb", "tb", "pb", "m", "h", "d"}
        other_units = {"minutes", "hours", "days", "weeks", "kelvins", "fahrenheit", "bits", "calories", "milliwatts", "kilobytes",
                       "megabytes", "megahertz", "milliseconds", "microseconds", "nanoseconds", "millijoules", "microjoules"}
        for name, kind in types.items():
            words = set(name.split("_"))
            self.assertRegex(name, r"^[a-z][a-z0-9_]*$")
            self.assertEqual(name.endswith("_total"), kind == "counter", name)
            self.assertFalse(name.endswith(("_count", "_sum", "_bucket")), name)
            self.assertFalse(words & (short_units | other_units | {kind, "gauge", "counter", "histogram", "summary"}), name)
        for labels in re.findall(r"^joule_\w+\{(.*)\}", page, re.M):
            for label in re.findall(r'(\w+)="', labels):
                self.assertRegex(label, r"^[a-z][a-z0-9_]*$")
                self.assertNotIn(label, ("le", "quantile"))

    def test_paths_and_methods_have_their_status(self):
        with serving(*self.options) as server:
            for path in ("/", "/page.css", "/page.js", "/metrics", "/api/devices", "/api/history"):
                status, headers, body = server.get(path)
                self.assertEqual(status, 200, path)
                self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
                self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
                status, headers, empty = server.get(path, "HEAD")
                self.assertEqual((status, empty), (200, ""), path)
            for path in ("/nope", "/metrics/", "/../etc/passwd", "/%2e%2e/etc/passwd", "//metrics", "/api"):
                self.assertEqual(server.get(path)[0], 404, path)
            self.assertEqual(server.get("/metrics?name=x")[0], 200, "Prometheus may send parameters")
            for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"):
                status, headers, _ = server.get("/metrics", method)
                self.assertEqual((status, headers["Allow"]), (405, "GET, HEAD"), method)
            self.machine.use(joules=10, seconds=0.5)
            self.assertEqual(server.get("/healthz")[::2], (200, "ok\n"))
            _, headers, body = server.get("/api/devices")
            schema_check.validator("serve").validate(json.loads(body))
            self.assertEqual(json.loads(body)["hostname"], "node-7")

    def test_no_sensor_is_not_healthy(self):
        with serving("--root", self.machine.root, "--sources", "battery") as server:
            status, _, body = server.get("/healthz")
            self.assertEqual(status, 503, body)
            self.assertNotIn("joule_total_energy", server.metrics())

    def test_token_is_required(self):
        secret = os.path.join(self.folder, "token")
        with open(secret, "w", encoding="ascii") as file:
            file.write("open-sesame\n")
        os.chmod(secret, 0o600)
        for arguments, environment in ((("--token-file", secret), {}), ((), {"JOULE_SERVE_TOKEN": "open-sesame"})):
            with serving(*self.options, *arguments, **environment) as server:
                for path in ("/metrics", "/api/devices", "/api/history", "/nope"):
                    for header in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "open-sesame"},
                                   {"Authorization": "Bearer open-sesam"}, {"Authorization": "Bearer open-sesamee"},
                                   {"Authorization": "Bearer "}, {"Authorization": "Basic open-sesame"}):
                        status, headers, body = server.get(path, **header)
                        self.assertEqual((status, headers["WWW-Authenticate"]), (401, 'Bearer realm="joule"'), (path, header))
                        self.assertNotIn("joule_", body)
                self.assertEqual(server.get("/metrics", Authorization="Bearer open-sesame")[0], 200)
                self.assertEqual(server.get("/")[0], 200, "the page asks for the token itself")
                for name in ("cmdline", "environ"):
                    with open(f"/proc/{server.process.pid}/{name}", "rb") as file:
                        self.assertNotIn(b"sesame", file.read(), name)
                self.assertEqual(server.end(), 0)
                self.assertNotIn("sesame", server.messages)

    def test_wrong_usage_is_refused(self):
        for where in ("", "9400", ":9400", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "::1:9400", "[::1]",
                      "[::1:9400"):
            done = usage("--listen", where)
            self.assertEqual(done.returncode, 2, (where, done.stderr))
            self.assertIn(where, done.stderr)
        for where in ("256.1.1.1:1", "[]:9400"):
            self.assertEqual(usage("--listen", where).returncode, 125, where)
        for words in (("--period", "1us"), ("--sources", "no_such_source")):
            self.assertEqual(usage("--listen", "127.0.0.1:0", *words).returncode, 2, words)
        self.assertEqual(usage("surplus").returncode, 2)
        self.assertEqual(usage("--token").returncode, 2)
        self.assertIn("/nowhere", usage("--token-file", "/nowhere").stderr)
        for text in ("", "two words", "x" * 257, "caf\u00e9"):
            self.assertEqual(usage("--listen", "127.0.0.1:0", JOULE_SERVE_TOKEN=text).returncode if text else 125, 125, text)
        with serving(*self.options) as server:
            done = usage("--listen", server.address)
            self.assertEqual(done.returncode, 125)
            self.assertIn("another port", done.stderr)
            self.assertEqual(usage("--listen", "127.0.0.1:0", "--root", "/dev/null").returncode, 125)

    def test_addresses_of_both_families_work(self):
        with serving(*self.options, listen="[::1]:0") if socket.has_dualstack_ipv6() else contextlib.nullcontext() as server:
            if server:
                self.assertEqual(server.get("/metrics")[0], 200)
                self.assertNotIn("warning", server.messages)
            else:
                print("skipped: [::1]: there is no IPv6 here")
        with serving(*self.options, listen="0.0.0.0:0") as server:
            self.assertIn("warning", server.messages)
            self.assertIn("--token-file", server.messages)

    def test_signals_end_it_cleanly(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with serving(*self.options) as server:
                host, port = server.address.rsplit(":", 1)
                with socket.create_connection((host, int(port))) as waiting:
                    waiting.sendall(b"GET /metrics HT")
                    self.assertEqual(server.end(number), 0)
                self.assertEqual(len(server.messages.splitlines()), 1, server.messages)

    def test_bad_clients_delay_no_other(self):
        """Connects a thousand bad clients, as many at one time as possible. A normal client is answered
        during this time and afterwards."""
        with serving(*self.options) as server:
            host, port = server.address.rsplit(":", 1)
            bad = (b"", b"G", b"GET /metrics", b"GET /metrics HTTP/1.1\r\nHost: x\r\n", b"\0" * 200, os.urandom(500),
                   b"GET / HTTP/9.9\r\n\r\n", b"GET " + b"/" * 40000, b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 5000,
                   b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000000\r\n\r\nx",
                   b"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
                   b"GET /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
                   b"GET /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n")
            held = []
            slowest = 0
            for i in range(1000):
                client = socket.create_connection((host, int(port)), timeout=20)
                with contextlib.suppress(OSError):
                    client.sendall(bad[i % len(bad)])
                held.append(client)
                if i % 3 == 0:  # a third of the clients closes at once, without reading the answer
                    held.pop().close()
                if i % 100 == 99:
                    begin = time.monotonic()
                    self.assertEqual(server.get("/metrics")[0], 200)
                    slowest = max(slowest, time.monotonic() - begin)
            self.assertIsNone(server.process.poll())
            self.assertLess(len(os.listdir(f"/proc/{server.process.pid}/fd")), 200)
            print(f"1,000 bad clients: a good one waited at most {1000 * slowest:.1f} ms")
            for client in held:
                client.close()
            self.assertEqual(server.get("/metrics")[0], 200)

    def test_slow_client_is_disconnected(self):
        """The client sends a byte from time to time, which resets an idle timer. It has 10 s in total."""
        with serving(*self.options) as server:
            host, port = server.address.rsplit(":", 1)
            with socket.create_connection((host, int(port)), timeout=1) as client:
                client.sendall(b"GET /metrics HTTP/1.1\r\n")
                begin = time.monotonic()
                with contextlib.suppress(OSError):
                    while time.monotonic() - begin < 30:
                        client.sendall(b"A")
                        time.sleep(0.5)
                self.assertLess(time.monotonic() - begin, 30)

    def test_memory_does_not_grow_with_scrapes(self):
        """24,000 scrapes of 16 boards may need at most 64 KiB more memory than the first 1,000. The time is
        printed, but not checked."""
        boards = {"JOULE_NVML_LIB": NVML, "JOULE_FAKE_NVML": "boards=16; duty=0.5; gpm=1"}
        with serving("--sources", "nvml", **boards) as server:
            if sanitizer_of(f"/proc/{server.process.pid}/exe"):
                self.skipTest("a sanitizer keeps freed memory")
            time.sleep(1)
            self.assertIn('joule_device_energy_joules_total{device="gpu:15"', server.metrics())
            connection = http.client.HTTPConnection(server.address, timeout=20)
            times = []
            for i in range(24000 if IS_FULL else 6000):
                if i == 1000:
                    first = server.resident_kib()
                begin = time.perf_counter()
                connection.request("GET", "/metrics", headers={"Accept": OPENMETRICS if i % 2 else "*/*"})
                connection.getresponse().read()
                times.append(time.perf_counter() - begin)
            connection.close()
            last = server.resident_kib()
            times.sort()
            print(f"resident: {first} KiB after 1,000 scrapes, {last} KiB after {i + 1}; "
                  f"99 of 100 took at most {1e3 * times[len(times) * 99 // 100]:.2f} ms")
            self.assertLessEqual(last, first + 64)

    def test_container_gets_its_share(self):
        """A container that uses one of two CPUs gets half of the package's energy; the rest is unattributed."""
        identity = "0123456789ab" * 5 + "0123"
        group = f"sys/fs/cgroup/system.slice/docker-{identity}.scope/cpu.stat"
        self.machine.write("sys/devices/system/cpu/online", "0-1\n")
        self.machine.write("sys/fs/cgroup/cgroup.controllers", "cpu\n")
        self.machine.write(group, "usage_usec 1000000\n")
        with serving(*self.options, "--tenants") as server:
            begin = time.monotonic()
            user = threading.Thread(target=lambda: self.machine.use(joules=300, seconds=6))
            user.start()
            while user.is_alive():
                with open(os.path.join(self.machine.root, group), "r+b", buffering=0) as file:
                    os.pwrite(file.fileno(), b"usage_usec %d\n" % (1e6 + 1e6 * (time.monotonic() - begin)), 0)
                time.sleep(0.02)
            page = server.metrics()
            schema_check.validator("serve").validate(json.loads(server.get("/api/devices")[2]))
        tenant = re.search(r'^joule_tenant_energy_joules_total\{tenant="[^"]*",kind="container",container_id="%s",part="cpu",'
                           r'class="derived"\} (\S+)$' % identity, page, re.M)
        rest = value_of(page, 'joule_tenant_energy_joules_total{kind="unattributed",part="cpu",class="derived"}')
        self.assertTrue(tenant and rest, page)
        self.assertGreater(float(tenant[1]), 20)
        self.assertAlmostEqual(float(tenant[1]) / (float(tenant[1]) + rest), 0.5, delta=0.15)
        total = value_of(page, "joule_energy_joules_total" + PACKAGE)
        self.assertLessEqual(float(tenant[1]) + rest, total + 0.01)
        self.assertNotIn("joule_tenant_energy_joules_total{tenant=\"\"", page)

    def test_pods_have_names(self):
        identity = "0123456789ab" * 5 + "0123"
        group = f"sys/fs/cgroup/kubepods.slice/kubepods-pod1a2b_3c.slice/cri-containerd-{identity}.scope/cpu.stat"
        self.machine.write("sys/fs/cgroup/cgroup.controllers", "cpu\n")
        self.machine.write(group, "usage_usec 1000000\n")
        self.machine.write("var/log/pods/shop_web-0_1a2b-3c/nginx/0.log", "")
        os.makedirs(os.path.join(self.machine.root, "var/log/containers"))
        os.symlink("/var/log/pods/shop_web-0_1a2b-3c/nginx/0.log",
                   os.path.join(self.machine.root, f"var/log/containers/web-0_shop_nginx-{identity}.log"))
        with serving(*self.options, "--tenants") as server:
            self.machine.use(joules=150, seconds=3)
            page = server.metrics()
            answer = json.loads(server.get("/api/devices")[2])
        schema_check.validator("serve").validate(answer)
        self.assertRegex(page, r'(?m)^joule_tenant_cpu_seconds_total\{tenant="[^"]*",kind="container",pod="web-0",namespace="shop",'
                               r'container="nginx",pod_uid="1a2b-3c",container_id="%s"\} ' % identity)
        tenant = answer["shares"]["tenants"][0]
        self.assertEqual([tenant[key] for key in ("namespace", "pod", "container", "pod_uid")], ["shop", "web-0", "nginx", "1a2b-3c"])

    def wait_until_shared(self, server):
        """Waits until the last window is attributed. All series of processes then add up to the meter's
        joules."""
        for _ in range(100):
            page = server.metrics()
            parts = re.findall(r'^joule_process_energy_joules_total\{.*part="cpu".*\} (\S+)$', page, re.M)
            total = value_of(page, "joule_energy_joules_total" + PACKAGE)
            if parts and abs(sum(map(float, parts)) - total) < 0.01:
                return page
            time.sleep(0.1)
        self.fail(page)

    def test_processes_get_their_shares(self):
        """One process uses one of two CPUs, and another uses a quarter of that. Energy of processes without
        their own series is in the series of the rest."""
        for pid, name in ((1, "init"), (100, "train me"), (200, "sshd")):
            self.machine.write(f"proc/{pid}/stat", stat(pid, name, 0))
        self.machine.write("sys/devices/system/cpu/online", "0-1\n")
        with serving(*self.options, "--processes", "1") as server:
            begin = time.monotonic()
            user = threading.Thread(target=lambda: self.machine.use(joules=250, seconds=5))
            user.start()
            while user.is_alive():
                ticks = 100 * (time.monotonic() - begin)
                for pid, name, share in ((100, "train me", 1), (200, "sshd", 0.25)):
                    with open(os.path.join(self.machine.root, f"proc/{pid}/stat"), "r+b", buffering=0) as file:
                        os.pwrite(file.fileno(), stat(pid, name, ticks * share).encode(), 0)
                time.sleep(0.02)
            page = self.wait_until_shared(server)
        series = "joule_process_energy_joules_total{kind=%s,part=\"cpu\",class=\"derived\"}"
        named = value_of(page, series % '"process",pid="100",comm="train me"')
        other, ended, rest = (value_of(page, series % f'"{kind}"') for kind in ("other", "ended", "unattributed"))
        self.assertIsNone(value_of(page, series % '"process",pid="200",comm="sshd"'))
        self.assertTrue(named > 90 and other > 10 and rest > 20 and ended == 0, page)
        self.assertAlmostEqual(rest / (named + other + rest), 1 - 1.25 / 2, delta=0.15)
        self.assertNotIn("joule_tenant_", page)
        for wrong in ("0", "65", "x", "-1"):
            done = usage("--processes", wrong)
            self.assertEqual(done.returncode, 2, done.stderr)

    def see_page(self, server):
        """Returns the page as a browser shows it after 6 s of virtual time."""
        browser = shutil.which("chromium") or shutil.which("chromium-browser")
        if not browser:
            self.skipTest("there is no chromium")
        done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + self.folder + "/browser",
                               "--virtual-time-budget=6000", "--dump-dom", f"http://{server.address}/"],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("Content Security Policy", done.stderr)
        return done.stdout

    def test_page_in_a_browser(self):
        with serving(*self.options) as server:
            self.machine.use(joules=200, seconds=5)
            page = self.see_page(server)
        self.assertIn(">node-7<", page)
        self.assertIn('class="live"', page)
        self.assertRegex(page, r'class="evidence measured">measured<')
        self.assertRegex(page, r'<path class="total" d="M[0-9.]+ [0-9.]+')
        self.assertRegex(page, r'<td class="in-total">package-0</td>')
        self.assertRegex(page, r"<td>package-1</td>.*?denied")
        self.assertIn("(partial)", page)

    def test_page_lists_tenants(self):
        self.machine.write("sys/fs/cgroup/cgroup.controllers", "cpu\n")
        self.machine.write("sys/fs/cgroup/slurm/uid_7/job_42/cpu.stat", "usage_usec 1000000\n")
        with serving(*self.options, "--tenants") as server:
            self.machine.use(joules=200, seconds=4)
            page = self.see_page(server)
        self.assertRegex(page, r"<td>slurm</td><td>job 42</td>")
        self.assertRegex(page, r"<td>unattributed</td>")

    def test_page_requests_the_token(self):
        with serving(*self.options, JOULE_SERVE_TOKEN="open-sesame") as server:
            page = self.see_page(server)
        self.assertRegex(page, r'<form id="ask">')
        self.assertRegex(page, r'<main id="readings" hidden')
        self.assertNotIn("package-0", page)

    def test_page_needs_no_other_server(self):
        with serving(*self.options) as server:
            text = "".join(server.get(path)[2] for path in ("/", "/page.css", "/page.js"))
        self.assertEqual(set(re.findall(r"https?://[^\s\"'`<>]+", text)), {"http://www.w3.org/2000/svg"})
        self.assertNotIn("innerHTML", text)

    def test_many_clients_are_served_at_once(self):
        with serving(*self.options) as server:
            failures = []

            def scrape():
                try:
                    for _ in range(50):
                        if server.get("/metrics")[0] != 200:
                            failures.append("status")
                except OSError as error:
                    failures.append(repr(error))

            threads = [threading.Thread(target=scrape) for _ in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(failures, [])


if __name__ == "__main__":
    if usage("--help").returncode == 125:
        skip("this build has no joule serve (libmicrohttpd)")
    unittest.main(verbosity=2)
