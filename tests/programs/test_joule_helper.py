#!/usr/bin/env python3
"""Checks joule-helper as a program: joule gets values from the helper, and no client can get anything but
these values.

Starts helpers on their own sockets that read recorded machines. Note: `Client` implements the protocol of
docs/helper.md independently, so that this file also checks that page.
"""
import contextlib
import grp
import json
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

from run_support import JOULE, Machine, PATIENCE_S, children_of, main, read_file, sanitizer_of, wait_until

HELPER = os.path.join(os.environ["JOULE_BUILD"], "tools/helper/joule-helper")
ZONE = "sys/class/powercap/intel-rapl:0"
REQUEST = struct.Struct("<4sHHII")
HEADER = struct.Struct("<4sHHIIqqII")
VALUE = struct.Struct("<qqQII")
CHANNEL_BYTES = 520
HELLO, READ = 1, 2


def request(kind, version=1, magic=b"JOUL", sequence=7, rest=0):
    return REQUEST.pack(magic, version, kind, sequence, rest)


class Client:
    """A connection to the helper that follows the protocol, unless a test sends other bytes."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect(path)
        self.socket.settimeout(PATIENCE_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.socket.sendall(data)

    def receive(self, size):
        """Returns this many bytes, or fewer if the helper closes the connection."""
        data = b""
        with contextlib.suppress(ConnectionResetError):
            while len(data) < size:
                piece = self.socket.recv(size - len(data))
                if not piece:
                    break
                data += piece
        return data

    def hung_up(self):
        return self.receive(1) == b""

    def ask(self, kind):
        """Sends a request. Returns (fields of the answer's header, bytes of each entry)."""
        self.send(request(kind))
        header = HEADER.unpack(self.receive(HEADER.size))
        size = CHANNEL_BYTES if kind == HELLO else VALUE.size
        return header, [self.receive(size) for _ in range(header[4])]

    def values(self):
        return [VALUE.unpack(entry) for entry in self.ask(READ)[1]]


class Still:
    """A recorded machine whose counter changes only when the test sets it."""

    def __init__(self, count=123456789):
        self.folder = tempfile.TemporaryDirectory()
        self.root = self.folder.name
        os.makedirs(os.path.join(self.root, ZONE))
        self.write("name", "package-0")
        self.write("max_energy_range_uj", "262143328850")
        self.write("energy_uj", count)

    def write(self, name, value):
        with open(os.path.join(self.root, ZONE, name), "w", encoding="utf-8") as file:
            file.write(f"{value}\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.folder.cleanup()


class Helper:
    """A running helper. `denied` is the same machine for a user without permissions, with the helper's socket
    in it."""

    def __init__(self, machine, *options, words=(), access=("--private",), **popen_options):
        self.folder = tempfile.TemporaryDirectory()
        self.denied = self.folder.name
        os.makedirs(os.path.join(self.denied, "run/joule"))
        shutil.copytree(os.path.join(machine.root, ZONE), os.path.join(self.denied, ZONE))
        with open(os.path.join(self.denied, "errors"), "w", encoding="utf-8") as file:
            file.write(f"/{ZONE}/energy_uj EACCES\n")
        self.path = os.path.join(self.denied, "run/joule/helper.sock")
        self.log = os.path.join(self.folder.name, "log")
        self.command = [*words, HELPER, "--root", machine.root, "--socket", self.path, *access, *options]
        self.popen_options = popen_options
        self.start()

    def start(self):
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(self.command, stderr=log, **self.popen_options)
        wait_until(lambda: "ready" in self.log_text() or self.process.poll() is not None, "the helper")

    def log_text(self):
        return read_file(self.log)

    def pid(self):
        """Returns the process id of the helper itself, if another program started it."""
        return next(iter(children_of(self.process.pid)), self.process.pid)

    def is_alive(self):
        return self.process.poll() is None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.kill(self.pid(), signal.SIGCONT)
            os.kill(self.pid(), signal.SIGTERM)
        self.process.wait(PATIENCE_S)
        self.folder.cleanup()


def joule(*words, **environment):
    return subprocess.run([JOULE, *words], capture_output=True, text=True, check=True, timeout=60, env={**os.environ, **environment})


def devices(root, **environment):
    return json.loads(joule("devices", "--json", "--root", root, **environment).stdout)


def report_of(root, *command, during=None):
    """Returns the report of `joule run` on a machine; during() is called while the command runs."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        run = subprocess.Popen([JOULE, "run", "-q", "--json", file.name, "--root", root, "--", *command])
        if during:
            during()
        assert run.wait(60) == 0
        return json.loads(read_file(file.name))


class AsAClient(unittest.TestCase):
    def test_a_denied_counter_is_read_through_it(self):
        with Still() as machine, Helper(machine) as helper:
            listing = devices(helper.denied)
            views = {d["source"]: d for d in listing["domains"]}
            self.assertEqual(views["rapl_powercap"]["state"], "denied")
            self.assertEqual((views["helper"]["state"], views["helper"]["scope"], views["helper"]["measurement"]),
                             ("ok", "package", "rapl"))
            direct = next(d for d in devices(machine.root)["domains"] if d["source"] == "rapl_powercap")
            for key in ("scope", "reading", "device", "tier", "update_period_seconds"):
                self.assertEqual(views["helper"][key], direct[key], key)

    def test_figures_are_those_of_a_direct_reading(self):
        with Machine(80) as machine, Helper(machine) as helper:
            through, direct = (report_of(root, "sleep", "0.6") for root in (helper.denied, machine.root))
            for report in (through, direct):
                gross = report["gross"]
                self.assertEqual((gross["partial"], gross["class"]), (False, "measured"), gross)
                self.assertAlmostEqual(gross["energy_joules"] / report["duration_seconds"], 80, delta=12)
                self.assertGreater(gross["coverage"], 0.9)
            self.assertEqual((through["gross"]["cover"], direct["gross"]["cover"]), ("package-0@helper", "package-0"))

    def test_own_rights_come_first(self):
        with Machine(80) as machine:
            path = os.path.join(machine.root, "run/joule/helper.sock")
            os.makedirs(os.path.dirname(path))
            with Helper(machine, "--socket", path):
                listing = devices(machine.root)
                self.assertEqual({d["source"]: d["state"] for d in listing["domains"]}, {"rapl_powercap": "ok", "helper": "ok"})
                self.assertEqual(report_of(machine.root, "sleep", "0.3")["gross"]["cover"], "package-0")

    def test_a_short_command_has_figures(self):
        with Machine(80) as machine, Helper(machine) as helper:
            # A busy machine may delay every reading by more than 0.03 s. The energy is unknown then.
            reports = (report_of(helper.denied, "sleep", "0.03") for _ in range(5))
            self.assertTrue(any((report["gross"]["energy_joules"] or 0) > 0 for report in reports))

    def test_no_helper_costs_one_failed_connection(self):
        if not shutil.which("strace"):
            self.skipTest("there is no strace")
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace")
            subprocess.run(["strace", "-f", "-o", trace, "-e", "trace=connect", JOULE, "run", "-q", "--sources", "helper", "--", "true"],
                           check=True, env={**os.environ, "JOULE_HELPER": os.path.join(folder, "none")})
            self.assertEqual(len(re.findall(r"connect\(", read_file(trace))), 1, read_file(trace))

    def test_the_doctor_knows_it(self):
        with Still() as machine, Helper(machine, "--coarse") as helper:
            found = json.loads(joule("doctor", "--json", "--root", helper.denied).stdout)
            findings = {f["id"]: f for f in found["findings"]}
            self.assertEqual(found["cpu_class"], "measured")
            self.assertIn("reads 1 counter.", findings["helper"]["what"])
            self.assertIn("every 1 s in steps of 1 J", findings["helper"]["why"])
            self.assertNotIn("powercap_denied", findings)
            helper.process.kill()
            helper.process.wait()
            found = json.loads(joule("doctor", "--json", "--root", helper.denied).stdout)
            self.assertIn("powercap_denied", {f["id"] for f in found["findings"]})

    def test_another_one_can_be_named(self):
        with Still() as machine, Helper(machine) as helper:
            listing = json.loads(joule("devices", "--json", JOULE_HELPER=helper.path).stdout)
            self.assertEqual([s["state"] for s in listing["sources"] if s["name"] == "helper"], ["ok"])


class Descriptors(unittest.TestCase):
    """When the helper is ready, it has opened its sensors' files and no other file of the machine."""

    FILES = {"proc/cpuinfo": "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n",
             "sys/devices/system/cpu/online": "0\n",
             "sys/bus/event_source/devices/power/type": "21\n",
             "sys/bus/event_source/devices/power/cpumask": "0\n",
             "dev/cpu/0/msr": "606 a0e03\n611 1000\n619 1000\n639 1000\n641 1000\n",
             ZONE + ":0/name": "core\n", ZONE + ":0/energy_uj": "100\n",
             "sys/class/hwmon/hwmon0/name": "power_meter\n", "sys/class/hwmon/hwmon0/power1_average": "217600000\n",
             "sys/class/hwmon/hwmon1/name": "ina3221\n", "sys/class/hwmon/hwmon1/in1_label": "VDD_CORE\n",
             "sys/class/hwmon/hwmon1/in1_input": "5000\n", "sys/class/hwmon/hwmon1/curr1_input": "100\n"}
    EVENTS = {"pkg": 2, "cores": 1, "ram": 3}

    def machine(self, events):
        machine = Still()
        files = dict(self.FILES)
        for name in events:
            base = "sys/bus/event_source/devices/power/events/energy-" + name
            files[base] = f"event=0x{self.EVENTS[name]:02x}\n"
            files[base + ".scale"] = "2.3283064365386962890625e-10\n"
            files[f"perf/21/{self.EVENTS[name]:#x}/0"] = "1000\n"
        for path, text in files.items():
            path = os.path.join(machine.root, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return machine

    def held(self, helper, root):
        """Returns files of the machine that the helper has open, relative to its root."""
        folder = f"/proc/{helper.pid()}/fd"
        try:
            links = [os.readlink(os.path.join(folder, name)) for name in os.listdir(folder)]
        except PermissionError:
            self.skipTest("the helper's descriptors are for root to see")
        return sorted(os.path.relpath(link, os.path.realpath(root)) for link in links if link.startswith(os.path.realpath(root)))

    def test_only_offered_counters_are_open(self):
        everything = "rapl_perf,rapl_powercap,rapl_msr,hwmon"
        cases = ((("pkg", "cores", "ram"), "rapl_perf,rapl_powercap,rapl_msr", ["perf/21/0x2/0", "perf/21/0x3/0"]),
                 (("pkg",), everything, ["dev/cpu/0/msr", "perf/21/0x2/0", "sys/class/hwmon/hwmon0/power1_average"]),
                 ((), "rapl_powercap", [ZONE + "/energy_uj"]),
                 ((), "hwmon", ["sys/class/hwmon/hwmon0/power1_average"]))
        for events, sources, expected in cases:
            with self.subTest(sources=sources), self.machine(events) as machine, \
                    Helper(machine, "--sources", sources) as helper, Client(helper.path) as client:
                self.assertEqual(self.held(helper, machine.root), expected, helper.log_text())
                self.assertEqual([value[3] for value in client.values()], [0] * len(expected))


class Restarts(unittest.TestCase):
    def test_counter_steps_between_two_helpers_are_no_energy(self):
        """A change of the counter while no helper runs is not counted as energy. Perf events change in this
        way when they are reopened."""
        with Machine(50) as machine, Helper(machine) as helper:
            def restart():
                time.sleep(0.7)
                helper.process.kill()
                helper.process.wait()
                machine.offset_joules = 300
                time.sleep(0.3)
                helper.start()
            report = report_of(helper.denied, "sleep", "3", during=restart)
            gross, wall = report["gross"], report["duration_seconds"]
            self.assertLess(gross["energy_joules"], 60 * wall, gross)
            self.assertGreater(gross["energy_joules"], 20 * wall, gross)
            self.assertLess(gross["coverage"], 0.95)
            self.assertGreater(gross["coverage"], 0.4)

    def test_a_helper_that_dies_ends_nothing(self):
        with Machine(50) as machine, Helper(machine) as helper:
            def kill():
                time.sleep(0.5)
                helper.process.kill()
            report = report_of(helper.denied, "sleep", "1", during=kill)
            self.assertLess(report["gross"]["energy_joules"], 60 * report["duration_seconds"])

    def test_hanging_helper_delays_no_reading(self):
        with Machine(50) as machine, Helper(machine) as helper:
            def stop():
                time.sleep(0.3)
                helper.process.send_signal(signal.SIGSTOP)
            report = report_of(helper.denied, "sleep", "0.6", during=stop)
            self.assertLess(report["gross"]["energy_joules"], 60 * report["duration_seconds"])
            begin = time.monotonic()
            listing = devices(helper.denied)
            self.assertLess(time.monotonic() - begin, PATIENCE_S)
            self.assertEqual([s["state"] for s in listing["sources"] if s["name"] == "helper"], ["failed"])

    def test_socket_of_a_dead_helper_is_replaced_and_of_a_living_one_not(self):
        with Still() as machine, Helper(machine) as helper:
            second = subprocess.run(helper.command, capture_output=True, text=True, timeout=60)
            self.assertEqual((second.returncode, "another helper uses it" in second.stderr), (125, True), second)
            helper.process.kill()
            helper.process.wait()
            helper.start()
            with Client(helper.path) as client:
                self.assertEqual(len(client.values()), 1)


class Protocol(unittest.TestCase):
    def test_the_values_are_the_counters(self):
        with Still(987654321) as machine, Helper(machine) as helper, Client(helper.path) as client:
            header, channels = client.ask(HELLO)
            self.assertEqual(header[:5], (b"JOUL", 1, HELLO, 7, 1))
            self.assertEqual(len(channels[0]), CHANNEL_BYTES)
            self.assertEqual(channels[0][128:176].rstrip(b"\0"), b"package-0")
            before, after, raw, status, _ = client.values()[0]
            self.assertEqual((raw, status), (987654321, 0))
            self.assertTrue(0 < before <= after <= time.monotonic_ns(), header)

    def test_hardware_is_read_at_its_own_pace(self):
        with Still() as machine, Helper(machine, "--pace", "100ms") as helper, Client(helper.path) as client:
            begin = time.monotonic()
            stamps = {client.values()[0][0] for _ in range(150)}
            self.assertLessEqual(len(stamps), (time.monotonic() - begin) / 0.1 + 2)

    def test_coarse_values_are_steps_in_time_and_joules(self):
        with Machine(50) as machine, Helper(machine, "--pace", "50ms", "--grain", "2J") as helper, Client(helper.path) as client:
            seen = set()
            wait_until(lambda: seen.add(client.values()[0][:3]) or len(seen) > 8, "eight readings")
            self.assertEqual([v for v in seen if v[2] % 2000000], [])
            stamps = sorted(v[0] for v in seen)
            self.assertTrue(all(b - a > 20e6 for a, b in zip(stamps[1:], stamps[2:])), stamps)

    def test_helper_has_dropped_its_privileges(self):
        with Still() as machine, Helper(machine) as helper:
            status = read_file(f"/proc/{helper.process.pid}/status")
            found = dict(re.findall(r"^(Cap\w+|NoNewPrivs|Seccomp|Uid):\s+(\S+)", status, re.M))
            self.assertEqual((found["CapPrm"], found["CapEff"], found["CapInh"], found["CapAmb"]), ("0" * 16,) * 4)
            self.assertEqual(found["NoNewPrivs"], "1")
            self.assertNotEqual(found["Uid"], "0")
            self.assertEqual(found["Seccomp"], "0" if sanitizer_of(HELPER) else "2")
            helper.process.terminate()
            self.assertEqual(helper.process.wait(PATIENCE_S), 0, helper.log_text())

    def test_systemd_hands_over_a_socket(self):
        with Still() as machine, tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "s")
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listener.bind(path)
            listener.listen()
            words = ["sh", "-c", 'exec 3<&"$1"; export LISTEN_PID=$$; shift; exec "$@"', "sh", str(listener.fileno())]
            with Helper(machine, words=words, pass_fds=[listener.fileno()], env={**os.environ, "LISTEN_FDS": "1"}) as helper:
                self.assertFalse(os.path.exists(helper.path))
                with Client(path) as client:
                    self.assertEqual(len(client.values()), 1, helper.log_text())
            no_socket = subprocess.run([*words, HELPER, "--root", machine.root], capture_output=True, text=True, timeout=60,
                                       stdin=subprocess.DEVNULL, pass_fds=[listener.fileno()], env={**os.environ, "LISTEN_FDS": "2"})
            self.assertIn("passed 2 sockets", no_socket.stderr)
            listener.close()


class Attacks(unittest.TestCase):
    def answers(self, helper):
        self.assertTrue(helper.is_alive(), helper.log_text())
        with Client(helper.path) as client:
            self.assertEqual(client.values()[0][2:4], (123456789, 0))

    def test_malformed_requests_end_the_connection(self):
        bad = [request(HELLO, magic=b"GET "), request(READ, rest=1), request(0), request(3), request(0xffff),
               b"\0" * 16, b"\xff" * 16, b"../../../../etc/", b"/etc/shadow\0\0\0\0\0"]
        with Still() as machine, Helper(machine) as helper:
            for data in bad:
                with Client(helper.path) as client:
                    client.send(data)
                    self.assertTrue(client.hung_up(), data)
                self.answers(helper)
            with Client(helper.path) as client:
                client.send(request(READ, version=9))
                self.assertEqual(HEADER.unpack(client.receive(HEADER.size))[:5], (b"JOUL", 1, 0, 7, 0))
                self.assertTrue(client.hung_up())
            for i in range(300):
                with Client(helper.path) as client:
                    client.send(os.urandom(1 + i % 64))
            self.answers(helper)
            self.assertLess(len(helper.log_text().splitlines()), 400)

    def test_silent_and_slow_clients_are_disconnected(self):
        with Still() as machine, Helper(machine) as helper:
            begin = time.monotonic()
            with Client(helper.path) as silent, Client(helper.path) as half, Client(helper.path) as slow:
                half.send(request(READ)[:9])
                slow.ask(READ)
                slow.send(request(READ)[:1])
                self.answers(helper)
                self.assertTrue(silent.hung_up() and half.hung_up() and slow.hung_up())
                self.assertGreater(time.monotonic() - begin, 1.5)
            self.answers(helper)

    def test_client_that_reads_no_answers_is_disconnected(self):
        with Still() as machine, Helper(machine) as helper, Client(helper.path) as flood:
            flood.socket.setblocking(False)
            sent = 0
            def pour():
                nonlocal sent
                try:
                    sent += flood.socket.send(request(HELLO) * 1000)
                except BlockingIOError:
                    pass
                except (BrokenPipeError, ConnectionResetError):
                    return True
                return False
            wait_until(pour, "the end of the flood")
            self.assertLess(sent, 100 << 20)
            self.answers(helper)

    def test_a_flood_is_slowed_down(self):
        with Still() as machine, Helper(machine, "--rate", "500") as helper, Client(helper.path) as flood:
            begin, replies, size = time.monotonic(), 0, HEADER.size + VALUE.size
            flood.send(request(READ) * 600)
            while replies < 600 and len(flood.receive(size)) == size:
                replies += 1
                if replies == 300:
                    self.answers(helper)
            self.assertEqual(replies, 600)
            self.assertGreater(time.monotonic() - begin, (600 - 200) / 500 * 0.9)

    def test_one_user_cannot_take_all_places(self):
        with Still() as machine, Helper(machine, "--clients", "6") as helper:
            with contextlib.ExitStack() as stack:
                for _ in range(3):
                    stack.enter_context(Client(helper.path)).values()
                with Client(helper.path) as fourth:
                    self.assertTrue(fourth.hung_up())
            wait_until(lambda: "too many clients" in helper.log_text(), "the log")
            wait_until(lambda: self.has_place(helper), "a place")

    @staticmethod
    def has_place(helper):
        with Client(helper.path) as client:
            client.send(request(READ))
            return len(client.receive(HEADER.size)) == HEADER.size

    def test_no_descriptor_left(self):
        with Still() as machine, Helper(machine, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))) as helper:
            with contextlib.ExitStack() as stack:
                first = stack.enter_context(Client(helper.path))
                for _ in range(20):
                    stack.enter_context(Client(helper.path))
                time.sleep(1)
                self.assertEqual(len(first.values()), 1)
                ticks = sum(map(int, read_file(f"/proc/{helper.process.pid}/stat").rsplit(")", 1)[1].split()[11:13]))
                self.assertLess(ticks / os.sysconf("SC_CLK_TCK"), 0.2)
            wait_until(lambda: self.has_place(helper), "a place")

    def test_log_without_a_reader_blocks_nothing(self):
        with Still() as machine, Helper(machine) as helper:
            helper.process.terminate()
            helper.process.wait(PATIENCE_S)
            with subprocess.Popen(helper.command, stderr=subprocess.PIPE, text=True) as process:
                for line in process.stderr:
                    if "ready" in line:
                        break
                process.stderr.close()
                for _ in range(2):
                    with Client(helper.path) as client:
                        client.send(b"\0" * 16)
                        self.assertTrue(client.hung_up())
                with Client(helper.path) as client:
                    self.assertEqual(len(client.values()), 1)
                process.terminate()

    def test_rights_of_the_program_are_not_for_other_folders(self):
        if os.getuid() != 0 or not shutil.which("setcap"):
            self.skipTest("only root can give a program capabilities, with setcap")
        with Still() as machine, tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            program = shutil.copy(HELPER, folder)
            subprocess.run(["setcap", "cap_dac_read_search+ep", program], check=True)
            done = subprocess.run([program, "--root", machine.root], capture_output=True, text=True, timeout=60, user=65534, group=65534)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn("--root is not allowed", done.stderr)

    def test_only_the_group_may_connect(self):
        if os.getuid() != 0:
            self.skipTest("only root can be somebody else")
        group = next(g for g in grp.getgrall() if g.gr_gid not in (0, 65534))
        with Still() as machine, Helper(machine, access=("--group", group.gr_name)) as helper:
            os.chmod(helper.denied, 0o755)
            self.assertEqual(os.stat(helper.path).st_mode & 0o777, 0o660)
            for gid, expected in ((65534, 1), (group.gr_gid, 0)):
                code = f"import socket; socket.socket(socket.AF_UNIX).connect({helper.path!r})"
                done = subprocess.run(["python3", "-c", code], capture_output=True, user=65534, group=gid, extra_groups=[])
                self.assertEqual(done.returncode, expected, done.stderr)
                self.assertEqual(b"PermissionError" in done.stderr, expected == 1)

    def test_nothing_that_a_client_sends_opens_anything(self):
        if not shutil.which("strace") or sanitizer_of(HELPER):
            self.skipTest("there is no strace, or a sanitizer's own calls")
        allowed = {"ppoll", "accept4", "getsockopt", "recvfrom", "sendto", "close", "pread64", "read", "clock_gettime", "write",
                   "rt_sigreturn", "restart_syscall", "exit_group"}
        with Still() as machine, tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace")
            with Helper(machine, words=("strace", "-o", trace)) as helper:
                for data in (b"/etc/shadow", b"../" * 9, request(HELLO), request(READ), request(77), os.urandom(4096)):
                    with Client(helper.path) as client:
                        client.send(data)
                        client.socket.shutdown(socket.SHUT_WR)
                        client.receive(1 << 16)
                self.answers(helper)
            text = read_file(trace)
            after = text[text.lower().index("pr_set_seccomp"):].splitlines()[1:]
            calls = {m[1] for m in (re.match(r"(\w+)\(", line) for line in after) if m}
            self.assertIn("recvfrom", calls)
            self.assertEqual(calls - allowed, set())


class Units(unittest.TestCase):
    def test_systemd_accepts_the_units_and_rates_them_safe(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("there is no systemd-analyze")
        with tempfile.TemporaryDirectory() as folder:
            service, listener = (os.path.join(folder, "joule-helper." + kind) for kind in ("service", "socket"))
            text = read_file(os.path.join(os.environ["JOULE_BUILD"], "joule-helper.service"))
            with open(service, "w", encoding="utf-8") as file:
                file.write(re.sub(r"(?m)^ExecStart=.*", f"ExecStart={HELPER}", text))
            shutil.copy(os.path.join(os.environ["JOULE_SOURCE"], "contrib/systemd/joule-helper.socket"), listener)
            for words in (["verify", "--man=no", service, listener], ["security", "--offline=true", "--threshold=20", service]):
                done = subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, ""), (words, done.stdout))


class Words(unittest.TestCase):
    def test_wrong_usage_is_explained(self):
        with Still() as machine, tempfile.TemporaryDirectory() as empty:
            path = os.path.join(empty, "s")
            known = ("--root", machine.root, "--socket", path)
            for words, code, message in (
                    (("--sauces", "x"), 2, "did you mean --sources? See joule-helper --help"),
                    (("now",), 2, "unexpected argument 'now'"),
                    (("--pace", "1us"), 2, "--pace must be between"),
                    (("--clients", "1000"), 2, "at most 256"),
                    ((*known, "--sources", "rapl_perf,nvml"), 125, "unknown source 'nvml'"),
                    ((*known, "--group", "no-such-group"), 125, "sudo groupadd --system no-such-group"),
                    (("--root", empty, "--socket", path), 125, "no source can be read"),
                    (("--root", "/nonexistent/folder"), 125, "no such folder"),
                    (("--root", machine.root, "--private", "--socket", machine.root), 125, "it exists and is not a socket"),
                    (("--root", machine.root, "--private", "--socket", "/tmp/" + "x" * 120), 125, "too long")):
                done = subprocess.run([HELPER, *words], capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, message in done.stderr), (code, True), (words, done.stderr))
                self.assertTrue(done.stderr.startswith("joule-helper: "), done.stderr)
            for word in ("--help", "--version"):
                done = subprocess.run([HELPER, word], capture_output=True, text=True, check=True, timeout=60)
                self.assertIn("joule-helper", done.stdout)


if __name__ == "__main__":
    main()
