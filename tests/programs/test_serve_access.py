#!/usr/bin/env python3
"""Checks access to `joule serve`: accepted host names and passwords, TLS, and the user as which it runs."""
import base64
import contextlib
import http.client
import json
import os
import pwd
import re
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import unittest

import schema_check
from run_support import skip
from serving import JOULE, Machine, serving

# The first password is "open sesame", by bcrypt. The second is "b", by SHA-512.
USERS = ("alice: $2b$10$X2EXR4jx93L2XBfM3ElkJOd5KiZM0pCCX3KoK1VgD4hDeLK4LkC6W\n",
         "bob:$6$T2ppDFWcH7ZUshDY$rxlauj4xSdghOV5470ayEumTXY63fzbHbpD07sozdCAOKovmuqmsC.VBcdbznZ/1ZmmMy.LzptvU9gwucG8n./\n")
PATHS = ("/", "/page.js", "/metrics", "/api/devices", "/api/history", "/events", "/nope")


def usage(*arguments, **environment):
    return subprocess.run([JOULE, "serve", "--listen", "127.0.0.1:0", *arguments], capture_output=True, text=True, timeout=30,
                          env={**os.environ, **environment})


def basic(name, password):
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


class Access(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.machine = Machine(os.path.join(self.folder, "machine"))
        self.options = ("--root", self.machine.root, "--sources", "rapl_powercap", "--period", "20ms")

    def file(self, name, text, mode=0o600):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def ask(self, server, *headers, path="/metrics"):
        """Returns the status of a request with exactly these headers."""
        host, port = server.address.rsplit(":", 1)
        with socket.create_connection((host.strip("[]"), int(port)), timeout=20) as client:
            client.sendall("\r\n".join((f"GET {path} HTTP/1.1", *headers, "Connection: close", "", "")).encode())
            data = b""
            while b"\r\n" not in data and (piece := client.recv(4096)):
                data += piece
        return int(data.split()[1])


class Names(Access):
    def test_foreign_names_are_refused(self):
        with serving(*self.options, "--allow-host", "energy.example", "--allow-host", "[2001:db8::7]") as server:
            own = socket.gethostname()
            for name in ("localhost", "LOCALHOST.", "joule.localhost", "127.0.0.1", "127.8.9.1", "[::1]", own, own.split(".")[0],
                         "Energy.Example", "[2001:DB8::7]"):
                for port in ("", ":1", ":" + server.address.rsplit(":", 1)[1]):
                    self.assertEqual(self.ask(server, "Host: " + name + port), 200, name + port)
            for name in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", own + ".evil.example", "xlocalhost",
                         "192.0.2.1", "[2001:db8::8]", "energy.example.evil", "a" * 300, "[::1", "[::1]x", ":80", "127.1",
                         "localhost:x", "localhost:1@evil.example", "localhost, evil.example", "[::1]:1 x"):
                for path in (*PATHS, "/healthz"):
                    self.assertEqual(self.ask(server, "Host: " + name, path=path), 403, (name, path))
            self.assertIn(self.ask(server, "Host: localhost", "Host: evil.example"), (400, 403))
            self.assertIn(self.ask(server, "Host: evil.example", "Host: localhost"), (400, 403))

    def test_the_address_by_which_it_is_reached_is_a_name(self):
        own = next((address for *_, (address, *_) in socket.getaddrinfo(socket.gethostname(), 80, socket.AF_INET)
                    if not address.startswith("127.")), None) if self.resolves() else None
        with serving(*self.options, listen="0.0.0.0:0") as server:
            self.assertEqual(self.ask(server, "Host: 127.0.0.1"), 200)
            self.assertEqual(self.ask(server, "Host: 192.0.2.1"), 403)
            if not own:
                print("skipped: an address that is not loopback: there is none")

    def resolves(self):
        with contextlib.suppress(OSError):
            return bool(socket.getaddrinfo(socket.gethostname(), 80, socket.AF_INET))
        return False


class Passwords(Access):
    def test_user_and_password_are_required(self):
        both = self.file("web.yml", "# as Prometheus' exporters have it\nbasic_auth_users:\n  " + USERS[0] + "\n" + USERS[1])
        with serving(*self.options, "--auth-file", both) as server:
            for path in PATHS:
                status, headers, body = server.get(path)
                self.assertEqual((status, headers["WWW-Authenticate"]), (401, 'Basic realm="joule", charset="UTF-8"'), path)
                self.assertNotIn("joule_", body)
            self.assertEqual(server.get("/healthz")[0] in (200, 503), True)
            for name, password in (("alice", "open sesame"), ("bob", "b"), ("alice", "open sesame")):
                self.assertEqual(server.get("/metrics", **basic(name, password))[0], 200, name)
                self.assertEqual(server.get("/", **basic(name, password))[0], 200, name)
            for name, password in (("alice", "open sesam"), ("alice", ""), ("bob", "open sesame"), ("eve", "b"), ("", ""),
                                   ("alice", "open sesame\0"), ("x" * 400, "b")):
                status = server.get("/metrics", **basic(name, password))[0]
                self.assertIn(status, (401, 429), (name, password))
            for header in ("Basic", "Basic ====", "Basic %%%", "Bearer b", "Digest x", "Basic YWxpY2U="):
                self.assertIn(server.get("/metrics", Authorization=header)[0], (401, 429), header)
            self.assertEqual(server.end(), 0)
            for secret in ("sesame", "$2b", "alice"):
                self.assertNotIn(secret, server.messages)

    def test_guessing_is_slowed_down_without_delaying_known_users(self):
        users = self.file("users", USERS[1])
        with serving(*self.options, "--auth-file", users) as server:
            self.assertEqual(server.get("/metrics", **basic("bob", "b"))[0], 200)
            statuses = [server.get("/metrics", **basic("bob", f"wrong {i}"))[0] for i in range(60)]
            self.assertIn(429, statuses)
            self.assertEqual(set(statuses), {401, 429})
            self.assertEqual(server.get("/metrics", **basic("bob", "b"))[0], 200)

    def test_token_and_users_together(self):
        users, token = self.file("users", USERS[1]), self.file("token", "open-sesame\n")
        with serving(*self.options, "--auth-file", users, "--token-file", token) as server:
            self.assertEqual(server.get("/metrics")[1].get_all("WWW-Authenticate"),
                             ['Bearer realm="joule"', 'Basic realm="joule", charset="UTF-8"'])
            for good in (basic("bob", "b"), {"Authorization": "Bearer open-sesame"}):
                self.assertEqual(server.get("/metrics", **good)[0], 200, good)

    def test_files_that_others_can_read_or_write_are_refused(self):
        os.mkfifo(os.path.join(self.folder, "fifo"), 0o600)
        key = self.file("key", "x", 0o644)
        for option, name, content in (("--auth-file", "users", USERS[1]), ("--token-file", "token", "secret")):
            for mode, message in ((0o644, "every user on this machine can read the file"), (0o660, "other users can write"), (0o602, "other users can write")):
                path = self.file(name, content, mode)
                done = usage(*self.options, option, path)
                self.assertEqual((done.returncode, message in done.stderr), (125, True), (option, oct(mode), done.stderr))
                self.assertIn(f"hint: chmod", done.stderr)
            self.assertIn("not a regular file", usage(*self.options, option, os.path.join(self.folder, "fifo")).stderr)
            self.assertIn("cannot read", usage(*self.options, option, "/nowhere").stderr)
        done = usage(*self.options, "--tls-cert", self.file("cert", "x", 0o644), "--tls-key", key)
        self.assertIn("every user on this machine can read the file", done.stderr)
        if os.geteuid() == 0:
            path = self.file("theirs", USERS[1])
            os.chown(path, 65534, -1)
            self.assertIn("belongs to another user", usage(*self.options, "--auth-file", path).stderr)

    def test_invalid_hashes_are_refused(self):
        for line in ("alice", "alice:", "alice:secret", ":$6$x$y", "alice: $1$salt$qJH7.N4xYta3aEG/dfqo/0", "tls_server_config:",
                     "alice: $9$nothing", "x" * 65 + USERS[1][3:], USERS[1] + USERS[1]):
            path = self.file("users", "# users\n" + line + "\n")
            done = usage(*self.options, "--auth-file", path)
            self.assertEqual(done.returncode, 125, line)
            self.assertRegex(done.stderr, r"cannot use line [23] of .*\njoule serve: hint: ")
            self.assertNotIn("secret", done.stderr.replace(path, ""))
        self.assertIn("it names no user", usage(*self.options, "--auth-file", self.file("users", "# none\n")).stderr)


class Tls(Access):
    def setUp(self):
        super().setUp()
        self.cert, self.key = os.path.join(self.folder, "cert.pem"), os.path.join(self.folder, "key.pem")
        if not shutil.which("openssl"):
            self.skipTest("there is no openssl to make a certificate")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", self.key, "-out", self.cert, "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
        os.chmod(self.key, 0o600)
        self.tls = ("--tls-cert", self.cert, "--tls-key", self.key)

    def get(self, server, path="/metrics", **headers):
        connection = http.client.HTTPSConnection(server.address, timeout=20, context=ssl.create_default_context(cafile=self.cert))
        connection.request("GET", path, headers=headers)
        with contextlib.closing(connection):
            response = connection.getresponse()
            return response.status, response.read().decode()

    def test_clients_pass_with_password_over_tls(self):
        users = self.file("users", USERS[1])
        with serving(*self.options, *self.tls, "--auth-file", users) as server:
            self.machine.use(joules=5, seconds=0.2)
            self.assertEqual(self.get(server)[0], 401)
            status, body = self.get(server, **basic("bob", "b"))
            self.assertEqual((status, "joule_energy_joules_total" in body), (200, True))
            with self.assertRaises((OSError, http.client.HTTPException)):
                server.get("/metrics")  # this request does not use TLS
            with self.assertRaises(ssl.SSLError):
                bare = ssl.create_default_context()
                with socket.create_connection(tuple(server.address.split(":")), timeout=20) as plain:
                    bare.wrap_socket(plain, server_hostname="localhost")
            done = subprocess.run(["openssl", "s_client", "-connect", server.address, "-CAfile", self.cert, "-verify_return_error"],
                                  input=b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", capture_output=True,
                                  timeout=30)
            self.assertIn(b"Verify return code: 0", done.stdout, done.stderr)
            self.assertRegex(done.stdout, rb"TLSv1\.[23]")
            if shutil.which("curl"):
                done = subprocess.run(["curl", "-sS", "--cacert", self.cert, "-u", "bob:b", f"https://{server.address}/api/devices"],
                                      capture_output=True, text=True, timeout=30)
                schema_check.validator("serve").validate(json.loads(done.stdout))
            else:
                print("skipped: curl: there is none")
            self.assertEqual(server.end(), 0)

    def test_invalid_certificates_are_refused(self):
        other = os.path.join(self.folder, "other.pem")
        subprocess.run(["openssl", "genrsa", "-out", other, "2048"], check=True, capture_output=True)
        garbage = self.file("garbage", "no certificate\n")
        for cert, key in ((self.cert, other), (garbage, self.key), (self.cert, garbage)):
            done = usage(*self.options, "--tls-cert", cert, "--tls-key", key)
            self.assertEqual(done.returncode, 125, done.stderr)
            self.assertIn("cannot start the server", done.stderr)
            self.assertNotIn("listening", done.stderr)
        for alone in (self.tls[:2], self.tls[2:]):
            self.assertEqual(usage(*self.options, *alone).returncode, 2, alone)


class Events(Access):
    def test_event_streams_are_ended_cleanly(self):
        with serving(*self.options) as server, contextlib.ExitStack() as stack:
            streams = []
            for _ in range(3):
                connection = http.client.HTTPConnection(server.address, timeout=20)
                stack.callback(connection.close)
                connection.request("GET", "/events")
                streams.append(connection.getresponse())
                self.assertEqual((streams[-1].status, streams[-1].headers["Content-Type"]), (200, "text/event-stream"))
            self.machine.use(joules=20, seconds=0.5)
            for stream in streams:
                self.assertEqual(stream.readline(), b"retry: 2000\n")
                seen = []
                while len(seen) < 3:
                    fields = [stream.readline().decode() for _ in range(4)]
                    self.assertRegex(fields[0], r"^id: \d+\n$")
                    self.assertEqual((fields[1], fields[2][:6], fields[3]), ("event: devices\n", "data: ", "\n"))
                    schema_check.validator("serve").validate(json.loads(fields[2][6:]))
                    seen.append(json.loads(fields[2][6:])["unix_time_seconds"])
                self.assertEqual(seen, sorted(set(seen)))
            self.assertEqual(server.get("/metrics")[0], 200, "others are answered meanwhile")
            self.assertEqual(server.end(), 0, "it ends with streams open")

    def test_many_and_slow_streams(self):
        with serving(*self.options) as server:
            host, port = server.address.split(":")
            held = []
            for _ in range(60):  # none of these clients reads
                client = socket.create_connection((host, int(port)), timeout=20)
                client.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
                held.append(client)
            time.sleep(2.5)
            first = [client.recv(12) for client in held]
            self.assertEqual(sorted(set(first)), [b"HTTP/1.1 200", b"HTTP/1.1 503"])
            self.assertEqual(first.count(b"HTTP/1.1 200"), 32)
            self.assertEqual(server.get("/metrics")[0], 200)
            for client in held:
                client.close()
            deadline = time.monotonic() + 20
            while self.ask(server, "Host: localhost", path="/events") != 200:
                self.assertLess(time.monotonic(), deadline, "places of streams that ended are free again")
                time.sleep(0.2)


class Users(Access):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")

    def test_root_becomes_another_user(self):
        os.chmod(self.folder, 0o755)
        nobody = pwd.getpwnam("nobody")
        with serving(*self.options, "--user", "nobody") as server:
            self.machine.use(joules=20, seconds=0.5)
            self.assertIn("joule_energy_joules_total", server.metrics(), "sensors stay open")
            tasks = os.listdir(f"/proc/{server.process.pid}/task")
            for task in tasks:
                with open(f"/proc/{server.process.pid}/task/{task}/status", encoding="ascii") as file:
                    status = dict(line.split(":", 1) for line in file)
                self.assertEqual(set(status["Uid"].split()), {str(nobody.pw_uid)})
                self.assertEqual(set(status["Gid"].split()), {str(nobody.pw_gid)})
                for kind in ("CapPrm", "CapEff", "CapAmb"):
                    self.assertEqual(int(status[kind], 16), 0, kind)
            with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
                self.assertRegex(file.read(), r"NoNewPrivs:\s+1")

    def test_without_a_name_the_user_is_joule_or_nobody(self):
        with serving("--sources", "estimated") as server:
            with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
                uid = int(re.search(r"Uid:\s+(\d+)", file.read())[1])
            self.assertIn(pwd.getpwuid(uid).pw_name, ("joule", "nobody"))
        with serving("--sources", "estimated", "--user", "root") as server:
            with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
                self.assertRegex(file.read(), r"Uid:\s+0\s")

    def test_a_source_that_needs_root_at_each_reading_is_named(self):
        os.chmod(self.folder, 0o755)
        self.file("ipmitool", "#!/bin/sh\necho '    Instantaneous power reading:  120 Watts'\n"
                              "echo '    Power reading state is:  activated'\n", 0o755)
        path = self.folder + ":" + os.environ["PATH"]
        for user, warns in (("nobody", True), ("root", False)):
            with serving("--sources", "ipmi", "--user", user, JOULE_IPMI="local", PATH=path) as server:
                self.assertEqual("warning: cannot read without root: ipmi; --user root keeps the rights of root" in server.messages, warns, server.messages)

    def test_unknown_user_is_refused(self):
        done = usage(*self.options, "--user", "no-such-user")
        self.assertEqual(done.returncode, 125)
        self.assertIn("cannot run as 'no-such-user': there is no such user", done.stderr)
        self.assertIn("hint: sudo useradd", done.stderr)

    def test_given_capabilities_are_given_up_before_the_first_request(self):
        if not shutil.which("setpriv"):
            self.skipTest("there is no setpriv")
        os.chmod(self.folder, 0o755)
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=+dac_read_search",
                 "--ambient-caps=+dac_read_search", JOULE, "serve", "--listen", "127.0.0.1:0", "--sources", "estimated,thermal"]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
            try:
                line = process.stderr.readline()
                self.assertIn("listening", line)
                with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
                    self.assertRegex(file.read(), r"CapPrm:\s+0+\n")
            finally:
                process.terminate()
                process.wait(20)


class Units(unittest.TestCase):
    def test_systemd_takes_the_unit(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("there is no systemd-analyze")
        with tempfile.TemporaryDirectory() as folder:
            unit = os.path.join(folder, "joule-serve.service")
            with open(os.path.join(os.environ["JOULE_SOURCE"], "contrib/systemd/joule-serve.service"), encoding="utf-8") as file:
                text = file.read().replace("/usr/bin/joule", JOULE)
            with open(unit, "w", encoding="utf-8") as file:
                file.write(text)
            for words in (["verify", "--man=no", unit], ["security", "--offline=true", "--threshold=30", unit]):
                done = subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, timeout=60)
                self.assertEqual((done.returncode, done.stderr), (0, ""), (words, done.stdout))


if __name__ == "__main__":
    if usage("--help").returncode == 125:
        skip("this build has no joule serve (libmicrohttpd)")
    unittest.main(verbosity=2)
