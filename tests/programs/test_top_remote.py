#!/usr/bin/env python3
"""Checks `joule top --hosts` against real `joule serve`: values, TLS and passwords, hosts that stop and
return, and refusals.
"""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

from run_support import main, wait_until
from serving import JOULE, Machine, serving
from tmux_support import Tmux

BOB = "bob:$6$T2ppDFWcH7ZUshDY$rxlauj4xSdghOV5470ayEumTXY63fzbHbpD07sozdCAOKovmuqmsC.VBcdbznZ/1ZmmMy.LzptvU9gwucG8n./\n"


def top(*words, **environment):
    return subprocess.run([JOULE, "top", *words], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "160", **environment})


HAS_BOTH = not any("this build has no" in subprocess.run([JOULE, *words], capture_output=True, text=True, check=False).stderr
                   for words in (("top", "--hosts", "[", "--once"), ("serve", "--help")))


class Load:
    """A recorded machine with constant power, for use in a `with` block."""

    def __init__(self, folder, watts):
        self.machine, self.watts, self.ends = Machine(folder), watts, threading.Event()
        self.options = ("--root", self.machine.root, "--sources", "rapl_powercap", "--period", "20ms")

    def __enter__(self):
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        return self

    def run(self):
        while not self.ends.is_set():
            self.machine.use(joules=self.watts * 0.1, seconds=0.1)

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()


@unittest.skipUnless(HAS_BOTH, "this build has no joule serve, or no joule top --hosts")
class Hosts(Tmux):
    def setUp(self):
        super().setUp()
        self.place = tempfile.TemporaryDirectory()
        self.addCleanup(self.place.cleanup)

    def file(self, name, text, mode=0o600):
        path = os.path.join(self.place.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def load(self, name, watts):
        return Load(os.path.join(self.place.name, name), watts)

    def test_once_prints_all_hosts(self):
        with self.load("a", 40) as a, self.load("b", 400) as b, serving(*a.options) as one, serving(*b.options) as two:
            done = top("--hosts", f"{one.address},http://{two.address},127.0.0.1:9", "--once")
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
            watts = [float(text) for text in re.findall(r"^ 127\S+ +([0-9.]+) W [md]", done.stdout, re.M)]
            self.assertEqual(len(watts), 2, done.stdout)
            self.assertGreater(watts[1], watts[0])
            total = float(re.search(r"TOTAL +([0-9.]+) W", done.stdout)[1])
            self.assertAlmostEqual(total, sum(watts), delta=2)
            self.assertIn("2 of 3 hosts (partial)", done.stdout)
            self.assertRegex(done.stdout, r"127\.0\.0\.1:9 +- +- ")
            self.assertNotIn(" 0 W", done.stdout)

    def test_unreachable_host_is_counted(self):
        done = top("--hosts", "127.0.0.1:9", "--once")
        self.assertEqual(done.returncode, 125)
        self.assertIn("0 of 1 hosts", done.stdout)

    def test_lost_host_returns(self):
        with self.load("a", 40) as a, self.load("b", 400) as b, serving(*a.options) as stays:
            with serving(*b.options) as goes:
                self.type(f"'{JOULE}' top --hosts {stays.address},{goes.address}", "Enter")
                self.expect("2 of 2 hosts")
                address = goes.address
                goes.process.send_signal(signal.SIGKILL)
                goes.process.wait()
                self.expect("1 of 2 hosts (partial)", "stale, ")
                row = next(line for line in self.screen().splitlines() if address in line)
                self.assertRegex(row, re.escape(address) + r" +- ")
            with serving(*b.options, listen=address):
                self.expect("2 of 2 hosts")
            self.type("Down", "q")
            wait_until(lambda: "TOTAL" not in self.screen(), "the shell's screen to come back")
            self.type("echo code=$?", "Enter")
            self.expect("code=0")

    def test_tls_and_passwords(self):
        if not shutil.which("openssl"):
            self.skipTest("there is no openssl to make a certificate")
        cert, key = (os.path.join(self.place.name, name) for name in ("cert.pem", "key.pem"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert, "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        os.chmod(key, 0o600)
        users, token = self.file("users", BOB), self.file("token", "open-sesame\n")
        with self.load("a", 40) as a, serving(*a.options, "--tls-cert", cert, "--tls-key", key, "--auth-file", users,
                                              "--token-file", token) as server:
            hosts = ("--hosts", f"https://{server.address}", "--once")
            for good in (("--password-file", self.file("password", "bob:b\n")), ("--token-file", token)):
                done = top(*hosts, "--ca", cert, *good)
                self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
            self.assertIn("1 of 1 hosts", top(*hosts, "--ca", cert, JOULE_SERVE_TOKEN="open-sesame").stdout)
            done = top(*hosts, "--ca", cert, "--password-file", self.file("wrong", "bob:c\n"))
            self.assertEqual((done.returncode, "permission denied" in done.stdout), (125, True), done.stdout)
            done = top(*hosts)
            self.assertEqual(done.returncode, 125, done.stdout)
            self.assertRegex(done.stdout, r"(?i)certificate|peer|issuer")
            self.assertIn("every user on this machine can read the file", top(*hosts, "--token-file", self.file("open", "x", 0o644)).stderr)

    def test_wrong_options_are_refused(self):
        secret = self.file("password", "bob:b\n")
        for words, code, message in ((("--hosts", "a b"), 2, "--hosts takes HOST"), (("--hosts", ""), 2, "--hosts takes"),
                                  (("--hosts", "a", "--root", "/"), 2, "cannot be combined with"),
                                  (("--hosts", "192.0.2.1", "--password-file", secret, "--once"), 125, "unencrypted"),
                                  (("--hosts", "a", "--token-file", "/nowhere"), 125, "cannot read the token in /nowhere")):
            done = top(*words)
            self.assertEqual((done.returncode, message in done.stderr), (code, True), (words, done.stderr))
        done = top("--hosts", "127.0.0.1", "--once", JOULE_SERVE_TOKEN="x" * 512)
        self.assertEqual((done.returncode, "JOULE_SERVE_TOKEN is longer than 511 bytes" in done.stderr), (125, True), done.stderr)


if __name__ == "__main__":
    main()
