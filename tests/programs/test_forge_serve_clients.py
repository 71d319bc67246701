#!/usr/bin/env python3
"""Checks that `forge serve` survives clients that leave, are slow, or send wrong bytes (hostile_clients.py).

150 clients of all kinds come and go, 24 at a time; with JOULE_TEST_FULL=1, there are 1,000. JOULE_TEST_SEED changes what
they do.
"""
import concurrent.futures
import json
import os
import random
import signal
import sys
import unittest

from forge_serving import FORGE, PATIENCE_S, Server, missing, serving
from hostile_clients import KINDS, LONG, SHORT, Client, play, request
from run_support import IS_FULL, read_file, sanitizer_of

SANITIZER = sanitizer_of(FORGE)
COUNT = 1000 if IS_FULL else 150
AT_ONCE = 24
SEED = int(os.environ.get("JOULE_TEST_SEED", "0"))
MAX_GROWTH_MIB = 8


def files_and_threads(server):
    """Returns the numbers of open files and of threads of a server."""
    return tuple(len(os.listdir(f"/proc/{server.process.pid}/{folder}")) for folder in ("fd", "task"))


def resident_mib(server):
    lines = read_file(f"/proc/{server.process.pid}/status").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def play_all(server, numbers):
    """Plays clients at the same time, then closes the connections that stayed open. Returns messages about wrong answers."""
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        futures = [pool.submit(play, server.address, number, SEED) for number in numbers]
    faults = [str(future.exception()) for future in futures if future.exception()]
    for future in futures:
        if not future.exception() and future.result():
            future.result().leave()
    return faults


class Clients(unittest.TestCase):
    def wait_for_rest(self, server, at_rest):
        """Waits until the server has no requests, pages, files and threads beyond those that it had at rest."""
        names = ("vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc")
        server.wait_for(lambda: [server.metric(name) for name in names] == [0, 0, 0], "the end of all requests")
        server.wait_for(lambda: all(now <= rest for now, rest in zip(files_and_threads(server), at_rest)), "the end of all connections")

    def test_many_clients_leave_nothing_behind(self):
        with serving("--chat-template", "chatml", "--max-connections", "40", "--max-queue", "500") as server:
            at_rest = files_and_threads(server)
            first = max(COUNT // 5, len(KINDS))
            self.assertEqual(play_all(server, range(first)), [])
            self.wait_for_rest(server, at_rest)
            before = resident_mib(server)
            self.assertEqual(play_all(server, range(first, COUNT)), [])
            self.wait_for_rest(server, at_rest)
            growth = resident_mib(server) - before
            print(f"{COUNT} clients: {before:.1f} MiB after the first {first}, later {growth:+.1f} MiB")
            if not SANITIZER:  # sanitizers keep freed memory
                self.assertLess(growth, MAX_GROWTH_MIB)
            self.assertEqual(server.complete(**SHORT)["choices"][0]["text"], " upon a time,")
            self.assertEqual(server.metric("tensorforge:requests_failed_total"), 0)

    def test_clients_do_not_delay_the_end(self):
        """Clients that send no complete request, or read no answer, do not get the time of running answers."""
        server = Server("--grace", "10min")
        self.addCleanup(server.process.kill)
        head, _, body = request({**LONG, "stream": True}).partition(b"\r\n\r\n")
        beginnings = (b"", head[:50], head + b"\r\n\r\n", head + b"\r\n\r\n" + body[:10], head.replace(b"/v1", b"/v2") + b"\r\n\r\n" + body[:10])
        clients = [Client(server.address, random.Random(number)) for number in range(len(beginnings))]
        for client, beginning in zip(clients, beginnings):
            client.send(beginning)
        server.complete(**SHORT)  # the server has read what was sent before
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.process.wait(PATIENCE_S), 0)
        server.end()
        for client in clients:
            client.leave()

    def test_a_client_that_reads_nothing_does_not_delay_the_end(self):
        server = Server("--grace", "10min", "--max-queue", "100")
        self.addCleanup(server.process.kill)
        client = Client(server.address, random.Random(0))
        client.send(request({**LONG, "prompt": [[1]] * 20, "stream": True, "logprobs": 20}))  # more than all buffers contain
        server.wait_for(lambda: server.metric("vllm:num_requests_running") > 0, "the beginning of the answers")
        server.wait_for(lambda: server.metric("vllm:num_requests_running") == 0, "the end of the answers")
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.process.wait(PATIENCE_S), 0)
        server.end()
        client.leave()

    def test_idle_clients_do_not_use_up_the_files(self):
        """The limit of open files is below --max-connections. While many clients connect at once, new ones may be refused."""
        server = Server(before=("sh", "-c", 'ulimit -n 128 && exec "$@"', "sh"))
        self.addCleanup(server.process.kill)
        self.assertIn("warning: at most 32 clients can be connected", server.messages)
        idle = [Client(server.address, random.Random(number)) for number in range(100)]
        def is_answered():
            try:
                return server.complete(**SHORT)["choices"][0]["text"] == " upon a time,"
            except ConnectionError:
                return False
        server.wait_for(is_answered, "an answer")
        for client in idle:
            client.leave()
        self.assertEqual(server.end()[0], 0)


if __name__ == "__main__":
    reason = missing()
    if reason:
        print("skipped:", reason)
        sys.exit(77)
    unittest.main()
