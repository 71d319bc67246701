#!/usr/bin/env python3
"""Runs the examples that teach (examples/README.md): variants of a computation have equal results, and all
phases are regions of the report.

Note: sizes are small, and no test depends on time or energy.
"""
import errno
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import unittest

from run_support import BUILD, JOULE, PATIENCE_S, main, sanitizer_of, skip, wait_until

FOLDERS = {"power": "ex01-power-measurement", "matmul": "ex02-energy-efficiency", "write_read": "write-read",
           "merge_sort": "merge-sort", "offload": "offload", "offload_server": "offload", "kernels": "kernels"}
PROGRAMS = {name: os.path.join(BUILD, "examples", folder, name) for name, folder in FOLDERS.items()}
KERNELS = ["cholesky", "lu", "product", "sum", "collinear", "matching"]
CUDA = os.path.join(BUILD, "tests", "fakes", "cuda")
INTERRUPTED = 130


def run(name, *words, code=0, prefix=(), cuda=False, **variables):
    """Runs a program; returns what it printed. The fake GPU is there if `cuda`."""
    environment = {**os.environ, "FAKE_CUDA_FAIL": "", **({"LD_LIBRARY_PATH": CUDA} if cuda else {}), **variables}
    done = subprocess.run([*prefix, PROGRAMS[name], *words], env=environment, capture_output=True, text=True,
                          timeout=120)
    if done.returncode != code:
        raise AssertionError((name, words, done.returncode, done.stdout, done.stderr))
    return done.stdout + done.stderr


def counts_of_regions(name, *words, **options):
    """Returns {name: number} of the regions in the program's report."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        run(name, *words, prefix=[JOULE, "run", "-q", "--json", path, "--"], **options)
        with open(path, encoding="utf-8") as file:
            return {function["name"]: function["count"] for function in json.load(file)["functions"]}


def checksums(text):
    return re.findall(r"\b[0-9a-f]{16}\b", text)


def lines_of(text):
    """Returns {first word: checksum} of the lines with a checksum."""
    return {line.split()[0]: checksums(line)[0] for line in text.splitlines() if checksums(line)}


class Arguments(unittest.TestCase):
    def test_help_is_printed_and_wrong_arguments_are_refused(self):
        for name in PROGRAMS:
            with self.subTest(name):
                self.assertTrue(run(name, "--help").startswith(f"usage: {name} "))
                self.assertIn("usage: ", run(name, "--no-such-option", code=2))
                self.assertIn("usage: ", run(name, "a", "b", code=2))
        for name, words, reason in (("matmul", ["-n", "x", "all"], "cannot use size 'x'"),
                                    ("matmul", ["-n", "9999", "all"], "from 1 to 8192"),
                                    ("matmul", ["fast"], "usage: "), ("merge_sort", ["-n", "1.5", "threads"], "whole number"),
                                    ("merge_sort", ["-n", "nan", "threads"], "cannot use size 'nan'"),
                                    ("kernels", ["-z", "8193", "lu"], "at most 8192"), ("kernels", ["fft"], "usage: "),
                                    ("offload", ["-w", "cloud", "sum"], "usage: "),
                                    ("offload_server", ["-p", "65536"], "from 0 to 65535")):
            with self.subTest(name=name, words=words):
                self.assertIn(reason, run(name, *words, code=2))

    def test_failures_are_explained(self):
        self.assertIn("cannot create a file", run("write_read", "-d", "/no/such/folder", code=1))
        self.assertIn("it must be HOST:PORT", run("offload", "-w", "remote", "-S", "localhost", "sum", code=1))
        self.assertIn("cannot listen on 'here'", run("offload_server", "-a", "here", code=1))
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0)) # it does not listen
            port = unused.getsockname()[1]
            self.assertIn("Connection refused", run("offload", "-w", "remote", "-S", f"127.0.0.1:{port}", "sum", code=1))


class Results(unittest.TestCase):
    def test_products_are_equal(self):
        for size in (1, 33, 100):
            found = lines_of(run("matmul", "-n", str(size), "-r", "2", "-t", "3", "all"))
            self.assertEqual(list(found), ["naive", "blocked", "vectorised", "threads"])
            self.assertEqual(len(set(found.values())), 1, found)
        again, other = (lines_of(run("matmul", "-n", "100", "-s", seed, "naive"))["naive"] for seed in ("1", "2"))
        self.assertEqual(again, found["naive"])
        self.assertNotEqual(other, again)

    def test_sorted_numbers_are_equal(self):
        for size in (1, 2, 17, 1000, 100001):
            texts = [run("merge_sort", "-n", str(size), "-r", "2", *words)
                     for words in (["sequential"], ["-t", "2", "threads"], ["-t", "5", "threads"])]
            self.assertEqual(len({checksums(text)[0] for text in texts}), 1, texts)
            self.assertNotIn("NOT", "".join(texts))

    def test_records_read_are_those_written(self):
        texts = [run("write_read", "-m", "2", *words) for words in ([], ["--cold"], ["--seed", "2"])]
        self.assertEqual(checksums(texts[0]), checksums(texts[1]))
        self.assertNotEqual(checksums(texts[0]), checksums(texts[2]))
        self.assertIn("32768 records", texts[0])

    def test_no_file_remains(self):
        with tempfile.TemporaryDirectory() as folder:
            run("write_read", "-m", "1", TMPDIR=folder)
            self.assertEqual(os.listdir(folder), [])

    def test_kernels_are_equal_in_threads(self):
        serial = lines_of(run("kernels", "all"))
        self.assertEqual(list(serial), KERNELS)
        if sanitizer_of(PROGRAMS["kernels"]) == "thread":
            self.assertIn("built without OpenMP", run("kernels", "-p", "all", code=1))
            self.skipTest("kernels in threads: the thread sanitizer does not know OpenMP")
        for threads in ("1", "3"):
            self.assertEqual(lines_of(run("kernels", "-p", "all", OMP_NUM_THREADS=threads, OMP_WAIT_POLICY="passive")), serial)

    def test_kernels_have_three_sizes(self):
        for kernel in ("cholesky", "sum"):
            texts = [run("kernels", "-z", size, kernel) for size in ("small", "medium", "large")]
            sizes = [int(re.search(r"size +(\d+)", text)[1]) for text in texts]
            self.assertEqual(sizes, sorted(set(sizes)))

    def test_known_answers(self):
        """Counts of the kernels are integers, so that they can be computed here, too."""
        def numbers(seed):
            while True:
                seed = (seed + 0x9e3779b97f4a7c15) % 2**64
                x = (seed ^ seed >> 30) * 0xbf58476d1ce4e5b9 % 2**64
                x = (x ^ x >> 27) * 0x94d049bb133111eb % 2**64
                yield x ^ x >> 31

        def fnv(data):
            total = 0xcbf29ce484222325
            for byte in data:
                total = (total ^ byte) * 0x100000001b3 % 2**64
            return f"{total:016x}"

        chance = numbers(1)
        text = bytes(97 + next(chance) % 2 for _ in range(5000))
        pattern = (text + text[2500:2516])[5000:]
        matches = sum(text.startswith(pattern, i) for i in range(5000 - 16 + 1))
        self.assertEqual(lines_of(run("kernels", "-z", "5000", "matching"))["matching"], fnv(matches.to_bytes(8, "little")))
        chance = numbers(1)
        points = [(next(chance) % 1000, next(chance) % 1000) for _ in range(60)]
        lines = sum((b[0] - a[0]) * (c[1] - a[1]) == (b[1] - a[1]) * (c[0] - a[0])
                    for i, a in enumerate(points) for j, b in enumerate(points[:i]) for c in points[:j])
        self.assertEqual(lines_of(run("kernels", "-z", "60", "collinear"))["collinear"], fnv(lines.to_bytes(8, "little")))

    def test_power_prints_all_loads(self):
        text = run("power", "-d", "0.5", "-w", "0.1", "-t", "2")
        self.assertEqual(re.findall(r"^  (idle|light|medium|heavy)\b", text, re.M), ["idle", "light", "medium", "heavy"])
        words = {line.split()[0]: line.split() for line in text.splitlines() if line.startswith("  ")}
        self.assertEqual([words["idle"][-3], words["heavy"][-3] == "0"], ["0", False])
        self.assertRegex(text, r"(?m)^GPU")


class Regions(unittest.TestCase):
    def test_every_phase_is_a_region(self):
        phases = {"initialise": 2, "local": 1, "send": 1, "wait": 1, "receive": 1, "check": 2, "server": 1}
        for name, words, counts in (
                ("power", ["-d", "0.02", "-w", "0"], {"idle": 1, "light": 1, "medium": 1, "heavy": 1}),
                ("matmul", ["-n", "32", "all"], {"naive": 1, "blocked": 1, "vectorised": 1, "threads": 1}),
                ("write_read", ["-m", "1"], {"write": 1, "flush": 1, "read": 1}),
                ("merge_sort", ["-n", "1000", "-r", "7", "threads"], {"fill": 7, "sort": 7, "check": 7}),
                ("offload", ["-n", "40", "product"], phases), ("offload", ["-n", "40", "sum"], phases),
                ("kernels", ["-z", "64", "-r", "3", "all"], dict.fromkeys(KERNELS, 3))):
            with self.subTest(name=name, words=words):
                self.assertEqual(counts_of_regions(name, *words), counts)


class Offload(unittest.TestCase):
    def serve(self, *words):
        """Starts a server; returns its process and its HOST:PORT."""
        server = subprocess.Popen([PROGRAMS["offload_server"], *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.communicate)
        self.addCleanup(server.kill)
        return server, server.stdout.readline().split()[-1]

    def test_results_are_equal_everywhere(self):
        server, address = self.serve("--idle", "60")
        for operation in ("product", "sum"):
            found = [checksums(run("offload", "-n", "70", *words, operation))
                     for words in ([], ["-w", "local"], ["-w", "remote"], ["-S", address], ["-w", "remote", "-S", address])]
            self.assertEqual([len(sums) for sums in found], [2, 1, 1, 2, 1])
            self.assertEqual(len({checksum for sums in found for checksum in sums}), 1, found)
        server.send_signal(signal.SIGINT)
        self.assertEqual(server.wait(PATIENCE_S), INTERRUPTED)

    def test_server_survives_wrong_clients(self):
        server, address = self.serve("--idle", "60")
        host, port = address.split(":")
        big, none, unknown = (b"JMX1" + code.to_bytes(4, "little") + size.to_bytes(4, "little") + bytes(4)
                              for code, size in ((1, 4097), (1, 0), (9, 4)))
        refusal = b"JMX1" + (1).to_bytes(4, "little") + bytes(8)
        for message, answer in ((b"GET / HTTP/1.1\r\n\r\n", b""), (b"JM", b""), (big, refusal), (none, refusal), (unknown, refusal),
                                (b"JMX1" + (1).to_bytes(4, "little") * 2 + bytes(4) + b"half", b"")):
            with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as client:
                client.sendall(message)
                received = b""
                try: # the server may close the connection before it has read all
                    client.shutdown(socket.SHUT_WR)
                    while chunk := client.recv(100):
                        received += chunk
                except OSError as error:
                    self.assertIn(error.errno, (errno.ENOTCONN, errno.ECONNRESET))
                self.assertEqual(received, answer, message)
        self.assertIn("right", run("offload", "-n", "8", "-w", "remote", "-S", address, "sum"))

    def test_client_survives_wrong_servers(self):
        wrong = b"JMX1" + (0).to_bytes(4, "little") + (8).to_bytes(4, "little") + bytes(4) + bytes(4 * 64)
        for answer, reason in ((b"", "the other side closed the connection"), (b"HTTP/1.1 400 Bad", "Protocol error"),
                               (b"JMX1" + (1).to_bytes(4, "little") + bytes(8), "it refused the request"),
                               (wrong, "result of remote: WRONG")):
            with self.subTest(reason), socket.create_server(("127.0.0.1", 0)) as listener:
                client = subprocess.Popen([PROGRAMS["offload"], "-n", "8", "-w", "remote", "-S", "127.0.0.1:%d" % listener.getsockname()[1],
                                           "product"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                connection = listener.accept()[0]
                with connection:
                    left = 16 + 2 * 4 * 64
                    while left:
                        left -= len(connection.recv(left))
                    connection.sendall(answer)
                text = client.communicate(timeout=PATIENCE_S)[0]
                self.assertEqual(client.returncode, 1, text)
                self.assertIn(reason, text)


class Gpu(unittest.TestCase):
    """With a fake of the CUDA driver. It computes the kernels itself, so their PTX is not tested."""

    def setUp(self):
        if sanitizer_of(PROGRAMS["offload"]):
            self.skipTest("the fake GPU: LD_LIBRARY_PATH is only tested without sanitizers")

    def test_gpu_results_are_right(self):
        for operation in ("product", "sum"):
            text = run("offload", "-n", "70", "-w", "all", operation, cuda=True)
            self.assertIn("result of gpu: right", text)
            self.assertEqual(len(set(checksums(text))), 1, text)
        self.assertEqual(counts_of_regions("offload", "-n", "20", "-w", "gpu", "sum", cuda=True), {"initialise": 2, "gpu": 1, "check": 1})

    def test_power_of_gpu_is_a_second_table(self):
        text = run("power", "-d", "0.05", "-w", "0", cuda=True)
        self.assertIn("GPU 0, Fake GPU", text)
        self.assertEqual(text.count("  heavy "), 2)

    def test_a_gpu_that_fails_is_reported(self):
        self.assertIn("cannot use a GPU", run("offload", "-n", "8", "-w", "gpu", "sum", code=1, cuda=True, FAKE_CUDA_FAIL="cuInit"))
        for function in ("cuDeviceGetCount", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuModuleLoadData", "cuMemAlloc_v2"):
            text = run("offload", "-n", "8", "-w", "all", "sum", cuda=True, FAKE_CUDA_FAIL=function)
            self.assertIn("gpu: not used", text)
        for function in ("cuLaunchKernel", "cuCtxSynchronize", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2"):
            text = run("offload", "-n", "8", "-w", "all", "sum", code=1, cuda=True, FAKE_CUDA_FAIL=function)
            self.assertIn("the driver reports an error", text)


class Interrupts(unittest.TestCase):
    def test_interrupt_ends_each_program(self):
        """Each program would run for minutes."""
        for name, words, ready in (("power", ["-d", "600"], "load"), ("matmul", ["-n", "2048", "-r", "100000", "naive"], "variant"),
                                   ("write_read", ["-m", "1", "-p", "600"], "write"), ("merge_sort", ["-n", "5000000", "-r", "100000", "threads"], ""),
                                   ("offload", ["-n", "8", "-p", "600", "product"], "initialise"),
                                   ("kernels", ["-r", "1000000", "-z", "200", "product"], ""), ("offload_server", [], "listening")):
            with self.subTest(name):
                read_end, write_end = os.openpty() # a terminal, so that lines are written at once
                process = subprocess.Popen([PROGRAMS[name], *words], stdout=write_end, stderr=subprocess.PIPE, text=True)
                os.close(write_end)
                self.addCleanup(process.kill)
                if ready:
                    text = ""
                    while ready not in text:
                        text += os.read(read_end, 1000).decode()
                else:
                    wait_until(lambda: sleepless(process.pid), "the work")
                errors = interrupt(process)
                os.close(read_end)
                self.assertEqual(process.returncode, INTERRUPTED, errors)
                self.assertIn(f"{name}: interrupted", errors)


def interrupt(process):
    """Ends a program by SIGINT; returns what it wrote to stderr. One signal must be enough, except under the thread
    sanitizer: its runtime of gcc 12 keeps a signal for later, and in about 1 of 30 runs never delivers it."""
    if sanitizer_of(process.args[0]) == "thread":
        for _ in range(PATIENCE_S - 1):
            process.send_signal(signal.SIGINT)
            try:
                return process.communicate(timeout=1)[1]
            except subprocess.TimeoutExpired:
                pass
    process.send_signal(signal.SIGINT)
    return process.communicate(timeout=PATIENCE_S)[1]


def sleepless(pid):
    """Returns whether a process has used at least 0.2 s of CPU time: its arguments are read, and it works."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12]) >= os.sysconf("SC_CLK_TCK") / 5


if __name__ == "__main__":
    if not all(os.access(path, os.X_OK) for path in PROGRAMS.values()):
        skip("the examples are not built")
    main()
