#!/usr/bin/env python3
"""Checks `forge compile`, `run`, `inspect` and `devices`: from a graph's text to numbers in another process.

Also checks the contents of each kind of file, and the messages about files that are missing, truncated, of
another kind, or have random contents.
"""
import ast
import json
import os
import random
import stat
import struct
import re
import subprocess
import tempfile
import unittest

import schema_check
import sums

FORGE = os.environ.get("FORGE", "build/release/tools/forge/forge")
GRAPH = """forge graph 1
slot "fc.weight" : f32[3,4] = uniform(-0.5, 0.5) parameter
slot "steps" : i64[] = constant(3)
%1 = input "x" : f32[2,4]
%2 = read "fc.weight" : f32[3,4]
%3 = matmul(%1, %2) transpose_b : f32[2,3] @fc
%4 = unary.relu(%3) : f32[2,3] @fc
%5 = read "steps" : i64[]
%6 = constant {1} : i64[] optimiser
%7 = binary.add(%5, %6) : i64[] optimiser
output "y" = %4
write "steps" = %7 in_place
"""
FOLDS = """forge graph 1
%1 = input "x" : f32[3]
%2 = constant {1, 2, 3} : f32[3]
%3 = constant {2} : f32[1]
%4 = binary.add(%2, %3) : f32[3]
%5 = binary.mul(%1, %4) : f32[3]
%6 = unary.relu(%5) : f32[3]
output "y" = %6
"""
X = [[1.0, 2.0, -3.0, 0.5], [0.25, -1.0, 4.0, 2.0]]
W = [[0.5, -0.25, 1.0, 2.0], [-1.0, 0.5, 0.5, -0.5], [2.0, 1.0, 0.0, 1.0]]


def write_npy(path, shape, values, kind="<f4", letter="f"):
    head = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + struct.pack(f"<{len(values)}{letter}", *values))


def read_npy(path):
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<H", data[8:10])[0]
    head = ast.literal_eval(data[10:10 + size].decode())
    return head["shape"], [value for value, in struct.iter_unpack(head["descr"].replace("f4", "f"), data[10 + size:])]


def write_safetensors(path, weights, steps, metadata=None):
    head = ('{"__metadata__":' + json.dumps(metadata or {"made": "by a test"}) + ',"steps":{"dtype":"I64","shape":[],"data_offsets":[0,8]},'
            '"fc.weight":{"dtype":"F32","shape":[3,4],"data_offsets":[8,56]}}').encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(head)) + head + struct.pack("<q12f", steps, *sum(weights, [])))


class Tools(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        with open(self.path("g.txt"), "w", encoding="ascii") as file:
            file.write(GRAPH)
        with open(self.path("folds.txt"), "w", encoding="ascii") as file:
            file.write(FOLDS)
        write_npy(self.path("x.npy"), (2, 4), sum(X, []))
        write_safetensors(self.path("w.safetensors"), W, 10)
        self.good("compile", self.path("g.txt"), "-o", self.path("p.fprog"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def steps(self, name):
        with open(self.path(name), "rb") as file:
            data = file.read()
        size = struct.unpack("<Q", data[:8])[0]
        begin, end = json.loads(data[8:8 + size])["steps"]["data_offsets"]
        return struct.unpack("<q", data[8 + size + begin:8 + size + end])[0]

    def forge(self, *arguments, **environment):
        return subprocess.run([FORGE, *arguments], env={**os.environ, **environment}, capture_output=True, text=True, timeout=60, check=False)

    def good(self, *arguments):
        done = self.forge(*arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def bad(self, code, words, *arguments, **environment):
        done = self.forge(*arguments, **environment)
        self.assertEqual(done.returncode, code, (arguments, done.stderr))
        self.assertIn(words, done.stderr)
        self.assertEqual(done.stdout, "", arguments)

    def damaged(self, name):
        """Yields truncated copies of a file, copies with random bytes, and random bytes."""
        rng = random.Random(name)
        with open(self.path(name), "rb") as file:
            whole = file.read()
        copies = [whole[:n] for n in {0, 1, 7, 8, 9, len(whole) // 2, len(whole) - 1}] + [rng.randbytes(4096)]
        for _ in range(12):
            noisy = bytearray(whole)
            for _ in range(8):
                noisy[rng.randrange(len(noisy))] = rng.randrange(256)
            copies.append(bytes(noisy))
        for copy in copies:
            with open(self.path("damaged"), "wb") as file:
                file.write(copy)
            yield self.path("damaged")

    def assert_never_crashes(self, name, *arguments, may_pass):
        for path in self.damaged(name):
            done = self.forge(*[path if a == "FILE" else a.replace("=FILE", "=" + path) for a in arguments])
            self.assertIn(done.returncode, (0, 125) if may_pass else (125,), done.stderr)
            self.assertTrue(done.returncode == 0 or done.stderr.startswith(f"forge {arguments[0]}: "), done.stderr)

    # --- what works -------------------------------------------------------------------------------------------

    def test_compile_prints_a_summary(self):
        out = self.good("compile", "--output", self.path("q.fprog"), self.path("g.txt"))
        self.assertRegex(out, r"q\.fprog: 2 launches, 55 FLOP; arena \d+ bytes \(at least \d+ bytes\), state 56 bytes")
        with open(self.path("p.fprog"), "rb") as one, open(self.path("q.fprog"), "rb") as other:
            self.assertEqual(one.read(), other.read())

    def test_passes_are_listed(self):
        out = self.good("compile", self.path("folds.txt"), "-o", self.path("q.fprog"), "--passes").splitlines()
        self.assertRegex(out[0], r"^expand +[0-9.]+ ms +6 -> +6 nodes +9 FLOP -> +9 FLOP +88 bytes -> +88 bytes +21.2 nJ -> +21.2 nJ$")
        self.assertRegex(out[1], r"^transfer +[0-9.]+ ms +6 -> +6 nodes ")
        self.assertRegex(out[2], r"^recognise +[0-9.]+ ms +6 -> +6 nodes ")
        self.assertRegex(out[3], r"^precision +[0-9.]+ ms +6 -> +6 nodes ")
        self.assertRegex(out[4], r"^fold +[0-9.]+ ms +6 -> +4 nodes +9 FLOP -> +6 FLOP +88 bytes -> +60 bytes +21.2 nJ -> +14.4 nJ$")
        self.assertRegex(out[5], r"^regroup +[0-9.]+ ms +4 -> +4 nodes ")
        self.assertRegex(out[6], r"^fuse +[0-9.]+ ms +4 -> +3 nodes +6 FLOP -> +6 FLOP +60 bytes -> +36 bytes +14.4 nJ -> +8.66 nJ$")
        self.assertRegex(out[7], r"^layout +[0-9.]+ ms +3 -> +3 nodes ")
        self.assertRegex(out[8], r"^order +[0-9.]+ ms +3 -> +3 nodes +6 FLOP -> +6 FLOP +36 bytes -> +36 bytes +8.66 nJ -> +8.66 nJ$")
        self.assertIn("1 launches", out[9])

    def test_passes_can_be_skipped(self):
        out = self.good("compile", self.path("folds.txt"), "-o", self.path("q.fprog"), "--passes", "--skip", "regroup,fuse,layout,order").splitlines()
        self.assertEqual([line.split()[0] for line in out[:5]], ["expand", "transfer", "recognise", "precision", "fold"])
        self.assertIn("2 launches", out[5])
        self.bad(125, "cannot skip 'melt'", "compile", self.path("folds.txt"), "-o", self.path("q.fprog"), "--skip", "melt")

    def test_stops_after_a_pass(self):
        text = self.good("compile", self.path("folds.txt"), "--stop-after", "fold", "--passes")
        self.assertTrue(text.startswith("# expand"))
        self.assertIn("constant {3, 4, 5}", text)
        with open(self.path("folded.txt"), "w", encoding="utf-8") as file:
            file.write(text)
        self.assertEqual(self.good("compile", self.path("folded.txt"), "--stop-after", "expand"),
                         "".join(line for line in text.splitlines(True) if not line.startswith("#")))
        self.bad(125, "cannot stop after 'melt'", "compile", self.path("folds.txt"), "--stop-after", "melt")
        self.bad(2, "either", "compile", self.path("folds.txt"), "--stop-after", "fold", "-o", self.path("q.fprog"))

    def test_schedules_follow_the_objective(self):
        # 7 launches over 4 MiB each: the readers of each input belong together, so that a cache of 14 MB helps.
        with open(self.path("wide.txt"), "w", encoding="utf-8") as file:
            file.write('forge graph 1\n%1 = input "x" : f32[1024,1024]\n%2 = input "z" : f32[1024,1024]\n')
            for number, line in enumerate(("unary.relu(%1)", "unary.relu(%2)", "unary.tanh(%1)", "unary.tanh(%2)", "binary.add(%3, %5)",
                                           "binary.add(%4, %6)", "binary.mul(%7, %8)"), 3):
                file.write(f"%{number} = {line} : f32[1024,1024]\n")
            file.write('output "y" = %9\n')
        machine = ("cores=16,flop_per_s=1e12,bytes_per_s=100e9,core_bytes_per_s=20e9,launch_seconds=5e-6,busy_watts=200,idle_watts=5,"
                   "llc_bytes=14e6,llc_bytes_per_s=60e9,l2_bytes=0")
        command = ["compile", self.path("wide.txt"), "-o", self.path("wide.fprog"), "--device", "estimated", "--skip", "fuse",
                   "--objective"]
        cores = {}
        for objective in ("energy", "time", "edp"):
            done = self.forge(*command, objective, FORGE_MACHINE=machine)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            found = re.search(rf"schedule for {objective}: \d of 7 "
                              r"launches moved, \d on fewer cores than they could use \((\d+) to (\d+) of 16\)", done.stdout)
            self.assertTrue(found, done.stdout)
            cores[objective] = int(found.group(2))
            self.assertRegex(done.stdout, rf"gain in {objective}: numbers of cores [\d.]+ %, order [\d.]+ %\n")
            self.assertIn("expected, modelled:", done.stdout)
            self.assertRegex(done.stdout, r"live at once: 16\.00 MiB -> 12\.00 MiB")
        self.assertLessEqual(cores["energy"], cores["time"])
        self.assertIn("at most", self.good("inspect", self.path("wide.fprog")))
        self.bad(125, "need at most 8000000 bytes", *command, "energy", "--memory", "8e6", FORGE_MACHINE=machine)
        self.bad(125, "the fastest one", *command, "energy", "--time-bound", "1us", FORGE_MACHINE=machine)
        self.bad(2, "must be energy, time, edp or none", *command, "joy")
        self.bad(2, "need --objective", *command[:-1], "--memory", "8e6")
        self.bad(2, "use --output", "compile", self.path("wide.txt"), "--stop-after", "fold", "--objective", "time")

    def test_another_process_gets_the_right_numbers(self):
        out = self.good("run", self.path("p.fprog"), "--set", "x=" + self.path("x.npy"), "--states", self.path("w.safetensors"),
                        "--get", "y=" + self.path("y.npy"), "--save-states", self.path("s.safetensors"))
        shape, y = read_npy(self.path("y.npy"))
        self.assertEqual(shape, (2, 3))
        # The results are exact in f32.
        self.assertEqual(y, [max(0.0, sum(a * b for a, b in zip(x, w))) for x in X for w in W])
        self.assertEqual(self.steps("s.safetensors"), 11)
        self.assertRegex(out, r"1 run, [\d.]+ .?s")
        self.assertRegex(out, r"\nmemory: arena [\d.]+ bytes \(at least .*\), state 56 bytes, constants 64 bytes\n")
        self.assertRegex(out, r"fc +forward +fused_matmul +\w+")

    def test_runs_continue_with_the_states(self):
        self.good("run", "--repeat", "5", "--states=" + self.path("w.safetensors"), "--save-states", self.path("s.safetensors"),
                  self.path("p.fprog"))
        self.assertEqual(self.steps("s.safetensors"), 15)
        self.good("run", self.path("p.fprog"), "--states", self.path("s.safetensors"), "--save-states", self.path("t.safetensors"))
        self.assertEqual(self.steps("t.safetensors"), 16)

    def test_same_seed_same_bits(self):
        def bits(*arguments):
            self.good("run", self.path("p.fprog"), "--set", "x=" + self.path("x.npy"), "--get", "y=" + self.path("y.npy"), *arguments)
            with open(self.path("y.npy"), "rb") as file:
                return file.read()
        first = bits()
        self.assertEqual(bits("--seed", "1", "--threads", "2"), first)
        self.assertNotEqual(bits("--seed", "2"), first)

    def test_missing_inputs_are_named(self):
        done = self.forge("run", self.path("p.fprog"))
        self.assertEqual((done.returncode, done.stderr), (0, "forge run: inputs that are not given are zeros: x\n"))
        self.assertRegex(self.forge("run", self.path("p.fprog"), "--repeat", "3").stdout, "3 runs, ")

    def test_inspect_prints_a_graph(self):
        out = self.good("inspect", self.path("g.txt"))
        self.assertIn("g.txt: graph, 7 nodes, 12 parameters (48 bytes)\n", out)
        self.assertIn("  x f32[2,4]\n", out)
        self.assertIn("  fc.weight f32[3,4], 48 bytes, parameter\n", out)
        self.assertIn("  steps i64[], 8 bytes, written\n", out)
        self.assertRegex(out, r"matmul +1 +48 FLOP +104 bytes")  # 48 = 2*2*4*3 FLOP; 104 = 4 * (8 + 12 + 6) bytes
        self.assertRegex(out, r"all +7 +55 FLOP")

    def test_symbolic_sizes_are_chosen_at_run_time(self):
        with open(self.path("s.txt"), "w", encoding="ascii") as file:
            file.write('forge graph 1\nsymbol batch : 2..8 by 2\n%1 = input "x" : f32[batch,4]\n'
                       '%2 = reduce.mean(%1) axes=[0] : f32[4]\noutput "y" = %2\n')
        program, x, y = (self.path(name) for name in ("s.fprog", "xs.npy", "y.npy"))
        out = self.good("compile", self.path("s.txt"), "-o", program)
        self.assertIn("1 launches, 32 FLOP; arena 0 bytes", out)
        self.assertIn("\nat the largest sizes: batch from 2 to 8 by 2\n", out)
        page = self.good("inspect", program)
        self.assertIn("32 FLOP at the largest sizes, state", page)
        self.assertIn("\nsymbol batch: 2 to 8, a multiple of 2\n", page)
        self.assertIn("input    f32[batch,4], 128 bytes x\n".replace(" x", ' "x"'), page)
        write_npy(x, (6, 4), [float(i) for i in range(24)])
        for sizes in ([], ["--size", "batch=6"]):
            self.good("run", program, "--set", "x=" + x, "--get", "y=" + y, *sizes)
            self.assertEqual(read_npy(y), ((4,), [10.0, 11.0, 12.0, 13.0]))
        self.good("run", program, "--size=batch=4")
        self.bad(125, "batch must be from 2 to 8, a multiple of 2, not 5", "run", program, "--size", "batch=5")
        self.bad(125, "unknown symbol 'rows'; known symbols: batch", "run", program, "--size", "rows=2")
        self.bad(2, "--size takes NAME=N, not 'batch'", "run", program, "--size", "batch")
        write_npy(x, (9, 4), [0.0] * 36)
        self.bad(125, "input 'x': batch must be from 2 to 8, a multiple of 2, not 9", "run", program, "--set", "x=" + x)
        special = self.path("special.fprog")
        self.assertNotIn("largest", self.good("compile", self.path("s.txt"), "-o", special, "--size", "batch=6"))
        self.assertIn("input    f32[6,4], 96 bytes", self.good("inspect", special))
        self.bad(125, "known symbols: none", "run", special, "--size", "batch=6")
        self.bad(125, "not 10", "compile", self.path("s.txt"), "-o", special, "--size", "batch=10")

    def test_inspect_prints_symbols_and_composites(self):
        with open(self.path("s.txt"), "w", encoding="ascii") as file:
            file.write('forge graph 1\nsymbol B : 1..8\nslot "w" : f32[B] = constant(0) parameter\n'
                       '%1 = read "w" : f32[B]\n%2 = unary.relu(%1) : f32[B]\noutput "y" = %2\n')
        out = self.good("inspect", self.path("s.txt"))
        self.assertIn("s.txt: graph, 2 nodes, unknown parameters (unknown)\nsymbol B: 1 to 8\n", out)
        self.assertRegex(out, r"unary +1 +unknown +unknown")
        with open(self.path("c.txt"), "w", encoding="ascii") as file:
            file.write('# a comment\nforge graph 1\nbody $0 {\n  %1 = input "0" : f32[6]\n  %2 = unary.relu(%1) : f32[6]\n'
                       '  %3 = unary.neg(%2) : f32[6]\n  output "0" = %3\n}\n%1 = input "x" : f32[6]\n'
                       '%2 = composite.f(%1) body=$0 : f32[6]\noutput "y" = %2\n')
        self.assertRegex(self.good("inspect", self.path("c.txt")), r"composite +1 +12 FLOP +48 bytes")

    def test_inspect_prints_a_program(self):
        out = self.good("inspect", self.path("p.fprog"))
        self.assertRegex(out, r"p\.fprog: program, \d launches, 55 FLOP, state 56 bytes\n")
        self.assertRegex(out, r"arena: \d+ bytes planned, \d+ alive at once")
        self.assertRegex(out, r"fused_matmul by \w+: .*f32\[2,4\].*; 54 FLOP, 104 bytes @fc \(fc 100 %\) forward")

    def test_inspect_lists_tensors(self):
        out = self.good("inspect", self.path("w.safetensors"))
        self.assertIn("w.safetensors: safetensors, 2 tensors, 56 bytes\n", out)
        self.assertIn("f32: 12 elements in 1 tensors, 48 bytes\n", out)
        self.assertIn('made = "by a test"', out)
        self.assertRegex(out, r"fc\.weight +f32 +\[3,4\] +48\n")
        self.assertIn("x.npy: array, f32[2,4], 32 bytes\n", self.good("inspect", self.path("x.npy")))

    def test_inspect_prints_a_checkpoint(self):
        facts = {"forge.checkpoint": "1", "forge.seed": "7", "forge.step": "120", "forge.epoch": "2", "forge.batch": "5",
                 "forge.energy_joules": "1500", "forge.energy_joules_low": "1200", "forge.energy_joules_high": "1800",
                 "forge.energy_class": "measured", "a\u001b[2Jkey": "\u001b[2J"}
        write_safetensors(self.path("c.safetensors"), W, 3, facts)
        out = self.good("inspect", self.path("c.safetensors"))
        self.assertIn("step 120, epoch 2, batch 5, seed 7\nenergy so far 1.50 kJ (1.2 kJ to 1.8 kJ, measured)\n", out)
        self.assertNotIn("\x1b", out)  # escape sequences in names are shown, not interpreted
        write_safetensors(self.path("c.safetensors"), W, 3, facts | {"forge.energy_joules": "unknown"})
        self.assertIn("energy so far unknown\n", self.good("inspect", self.path("c.safetensors")))
        write_safetensors(self.path("c.safetensors"), W, 3, facts | {"forge.step": "many"})
        self.bad(125, "'forge.step' is 'many'", "inspect", self.path("c.safetensors"))

    def test_devices_are_listed_with_their_facts(self):
        out = self.good("devices")
        self.assertRegex(out, r"cpu: runs here\n  threads +\d+\n  instruction sets  plain.*, avx2.*, avx512.*, neon.*\n  memory +[\d.]+ [MGT]iB\n")
        self.assertEqual(out.count("(in use)"), 1)
        self.assertRegex(out, r"estimated: runs nothing, estimates time and energy\n(  .*\n)*  bytes_per_s +[\de.+]+ B/s \(.*\), assumed: ")
        for wanted in ("plain", "avx2", "avx512", "neon", "sse9"):
            done = self.forge("devices", "--json", FORGE_ISA=wanted)
            self.assertEqual(done.returncode, 0, done.stderr)
            cpu = {device["name"]: device for device in json.loads(done.stdout)["devices"]}["cpu"]
            if cpu["state"] == "ok":
                self.assertEqual([s["name"] for s in cpu["instruction_sets"] if s["in_use"] and s["here"]], [wanted])
                self.assertGreater(cpu["threads"], 0)
                self.assertGreater(cpu["memory_bytes"], 1 << 20)
                self.assertIsNone(cpu["reason"])
            else:
                self.assertNotEqual(wanted, "plain")
                self.assertIn("FORGE_ISA=" + wanted, cpu["reason"])
                self.assertEqual((cpu["threads"], cpu["instruction_sets"]), (None, None))
        self.assertIn("cpu: not available: FORGE_ISA=sse9", self.forge("devices", FORGE_ISA="sse9").stdout)
        self.bad(2, "unexpected argument 'cpu'", "devices", "cpu")

    def test_speeds_of_weights_are_listed(self):
        out = self.good("devices", "--weights")
        for name in ("f32", "f16", "bf16", "q8_0", "q6_k", "q4_k", "q4_0"):
            self.assertRegex(out, rf"(?m)^    {name} +[\d.]+ +[\d.]+ +[\d.]+  (repacked|mapped)$")
        self.assertNotIn("weights", self.good("devices"))

    def test_estimate_needs_no_run(self):
        machine = {"FORGE_MACHINE": "flop_per_s=1e9,bytes_per_s=1e9,launch_seconds=1e-3,idle_watts=1,busy_watts=1,flop_joules=0,byte_joules=0"}
        expected = r"2\.00 ms \(.* ms to .* ms\) and 4\.00 mJ \(.* mJ to .* mJ\) each"  # two launches of 1 ms at 2 W
        program, output = self.path("p.fprog"), self.path("e.fprog")
        for arguments, line in ((["compile", self.path("g.txt"), "-o", output, "--device", "estimated"], "nothing was run"),
                                (["inspect", self.path("g.txt"), "--device", "estimated"], "nothing was run"),
                                (["inspect", program, "-d", "estimated"], "nothing was run"),
                                (["run", program, "--device", "estimated", "--repeat", "4"], "only estimates, nothing was run")):
            done = self.forge(*arguments, **machine)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(done.stdout, expected)
            self.assertIn(line, done.stdout)
        self.assertRegex(done.stdout, r"matmul +\w+ +1\.00 ms +50\.0 % .* 2\.00 mJ")
        with open(program, "rb") as one, open(output, "rb") as other:
            self.assertEqual(one.read(), other.read())
        self.bad(125, "output 'y' has no value", "run", program, "-d", "estimated", "--get", "y=" + self.path("y.npy"))
        self.bad(125, "no values", "run", program, "-d", "estimated", "--states", self.path("w.safetensors"))
        self.bad(125, "no values", "run", program, "-d", "estimated", "--save-states", self.path("s.safetensors"))
        self.assertFalse(os.path.exists(self.path("y.npy")) or os.path.exists(self.path("s.safetensors")))
        done = self.forge("inspect", program, "-d", "cpu")
        self.assertEqual(done.returncode, 125)
        self.assertIn("cannot estimate for the device cpu: it runs programs", done.stderr)
        self.bad(125, "unknown figure 'speed'", "run", program, "-d", "estimated", FORGE_MACHINE="speed=1")

    def test_devices_follow_their_schema(self):
        try:
            validator = schema_check.validator("forge-devices")
        except (KeyError, SystemExit) as reason:
            self.skipTest(f"no validator of schemas: {reason}")
        validator.validate(json.loads(self.good("devices", "--json")))
        validator.validate(json.loads(self.good("devices", "--json", "--weights")))
        validator.validate(json.loads(self.forge("devices", "--json", FORGE_ISA="sse9").stdout))

    def test_programs_run_on_any_instruction_set(self):
        for isa in ("plain", "avx2", "avx512", "neon"):
            done = self.forge("run", self.path("p.fprog"), "--set", "x=" + self.path("x.npy"), "--states", self.path("w.safetensors"),
                              "--get", "y=" + self.path("y.npy"), FORGE_ISA=isa)
            if "does not have this instruction set" in done.stderr:
                continue
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(read_npy(self.path("y.npy"))[1], [max(0.0, sum(a * b for a, b in zip(x, w))) for x in X for w in W])
        self.bad(125, "FORGE_ISA=sse9", "run", self.path("p.fprog"), FORGE_ISA="sse9")

    # --- what is wrong ----------------------------------------------------------------------------------------

    # Checks that rows, time between operations and unattributed energy add up to the head. Text and page must
    # show the same values.
    def assert_adds_up(self, out, page, is_expected=False):
        each = re.search(r"^(\d+) runs?, .* and ([\d.]+ \w?J) .*each.*; in all ([\d.]+ \w?J)", out, re.M)
        self.assertIsNotNone(each, out)
        runs, step, total = int(each.group(1)), sums.amount(each.group(2)), sums.amount(each.group(3))
        if not is_expected:
            self.assertAlmostEqual(step * runs / total, 1, delta=0.011)
            self.assertIn("(between operations)", out)
        rows = sums.energies(out[each.end():].partition("\n")[2])
        self.assertGreater(len(rows), 1)
        self.assertAlmostEqual(sum(rows) / step, 1, delta=0.011)
        if not is_expected:
            time = re.search(r"^\d+ runs?, ([\d.]+) (\w?s) and ", out, re.M)
            self.assertAlmostEqual(sum(sums.times(out)) / sums.seconds(*time.groups()), 1, delta=0.011, msg=out)
        self.assertAlmostEqual(sums.check_page(self, page) / step, 1, delta=0.011)

    def test_tables_of_a_run_add_up(self):
        page = self.path("sums.html")
        for options in ([], ["--device", "estimated"]):
            done = self.forge("run", self.path("p.fprog"), "--set", "x=" + self.path("x.npy"), "--repeat", "200000", "--html", page, *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(page, encoding="utf-8") as file:
                self.assert_adds_up(done.stdout.replace(": the device estimated only estimates", "; in all 0.0 J"), file.read(), bool(options))

    def test_tables_of_a_short_run_add_up(self):
        """In a short run, start and end of the measurement take most of the time. This time counts as
        "between operations"."""
        page = self.path("sums.html")
        for repeat in ("1", "3"):
            done = self.forge("run", self.path("p.fprog"), "--set", "x=" + self.path("x.npy"), "--repeat", repeat, "--html", page)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(page, encoding="utf-8") as file:
                self.assert_adds_up(done.stdout, file.read())

    def test_step_is_printed_as_table_and_page(self):
        graph, page = self.path("nested.graph"), self.path("step.html")
        with open(graph, "w", encoding="utf-8") as file:
            file.write(GRAPH.replace("@fc", '@"a<b>/fc"'))
        done = self.forge("inspect", graph, "--step", "--html", page, "-t", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"\n +0 +\"?a<b>/fc\"? +forward +fused_matmul +fused_matmul ")
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("<b>a&lt;b&gt;</b>", text)
        self.assertIn("<td>f32[2,3]<td>fused_matmul<td>", text)
        self.assertEqual(text.count("<details"), text.count("</details>"))
        self.assert_adds_up(done.stdout, text)
        for file, reason in ((self.path("w.safetensors"), "not a graph or a program"), (self.path("no"), "No such file")):
            write_safetensors(self.path("w.safetensors"), W, 3)
            self.bad(125, reason, "inspect", file, "--step")

    def test_graph_of_the_guide_compiles(self):
        with open(os.path.join(os.environ["JOULE_SOURCE"], "docs", "guide.md"), encoding="utf-8") as file:
            lines = [line.strip() for line in file if line.startswith("    ")]
        begin, end = lines.index("forge graph 1"), lines.index('output "y" = %4') + 1
        with open(self.path("layer.txt"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines[begin:end]) + "\n")
        self.good("compile", self.path("layer.txt"), "-o", self.path("layer.fprog"))
        write_npy(self.path("x.npy"), (2, 4), sum(X, []))
        self.good("run", self.path("layer.fprog"), "--set", f"x={self.path('x.npy')}", "--get", f"y={self.path('y.npy')}")
        self.assertEqual(read_npy(self.path("y.npy"))[0], (2, 3))

    def test_wrong_usage_is_refused(self):
        self.bad(2, "PROGRAM is missing", "run")
        self.bad(2, "GRAPH is missing", "compile", "-o", self.path("p.fprog"))
        self.bad(2, "--output FILE is missing", "compile", self.path("g.txt"))
        self.bad(2, "unexpected argument 'b'", "run", "a", "b")
        self.bad(2, "--set takes NAME=FILE, not 'x'", "run", self.path("p.fprog"), "--set", "x")
        self.bad(2, "--get takes NAME=FILE, not '=y'", "run", self.path("p.fprog"), "--get", "=y")
        self.bad(2, "--seed takes a whole number", "run", self.path("p.fprog"), "--seed", "-1")
        self.bad(2, "did you mean --repeat", "run", self.path("p.fprog"), "--repaet", "2")
        self.bad(2, "from 1 to", "run", self.path("p.fprog"), "--repeat", "0")

    def test_wrong_graphs_are_refused_with_their_line(self):
        with open(self.path("wrong.txt"), "w", encoding="ascii") as file:
            file.write(GRAPH.replace("relu", "rely"))
        self.bad(125, "wrong.txt: line 7, column 12: expected a kind", "compile", self.path("wrong.txt"), "-o", self.path("w.fprog"))
        self.assertFalse(os.path.exists(self.path("w.fprog")))
        with open(self.path("symbol.txt"), "w", encoding="ascii") as file:
            file.write('forge graph 1\nsymbol B : 1..8\nslot "w" : f32[B] = constant(0)\n%1 = read "w" : f32[B]\noutput "y" = %1\n')
        self.bad(125, "slot 'w' has a symbolic size", "compile", self.path("symbol.txt"), "-o", self.path("w.fprog"))
        self.bad(125, "No such file", "compile", self.path("none"), "-o", self.path("w.fprog"))
        self.bad(125, "line 1, column 1", "compile", self.path("p.fprog"), "-o", self.path("w.fprog"))
        self.bad(125, "unknown device 'abacus'", "compile", self.path("g.txt"), "-o", self.path("w.fprog"), "-d", "abacus")
        self.bad(125, "No such file", "compile", self.path("g.txt"), "-o", self.path("none/w.fprog"))

    def test_wrong_files_for_a_run_are_refused(self):
        program = self.path("p.fprog")
        self.bad(125, "No such file", "run", self.path("none"))
        self.bad(125, "is not a program", "run", self.path("g.txt"))
        self.bad(125, "no input 'z'", "run", program, "--set", "z=" + self.path("x.npy"))
        self.bad(125, "no output 'z'", "run", program, "--get", "z=" + self.path("z.npy"))
        self.bad(125, "No such file", "run", program, "--set", "x=" + self.path("none"))
        self.bad(125, "w.safetensors", "run", program, "--set", "x=" + self.path("w.safetensors"))
        self.bad(125, "x.npy", "run", program, "--states", self.path("x.npy"))
        write_npy(self.path("wide.npy"), (2, 5), [0.0] * 10)
        self.bad(125, "input 'x' must be f32[2,4], packed, not f32[2,5]", "run", program, "--set", "x=" + self.path("wide.npy"))
        write_npy(self.path("whole.npy"), (2, 4), [0] * 8, "<i8", "q")
        self.bad(125, "not i64[2,4]", "run", program, "--set", "x=" + self.path("whole.npy"))
        self.assertFalse(os.path.exists(self.path("z.npy")))

    def test_wrong_files_to_inspect_are_refused(self):
        self.bad(2, "FILE is missing", "inspect")
        self.bad(2, "unknown option --colour", "inspect", self.path("g.txt"), "--colour")
        self.bad(125, "No such file", "inspect", self.path("none"))
        self.bad(125, "it is a directory, not a file", "inspect", self.folder)
        self.bad(125, "not a graph, program, checkpoint, safetensors or .npy file", "inspect", __file__)

    def test_output_that_cannot_be_written(self):
        for arguments in (["--help"], ["--version"], ["help", "run"], ["train", "--help"], ["inspect", self.path("g.txt"), "--help"],
                          ["devices"], ["devices", "--json"], ["inspect", self.path("g.txt")], ["inspect", self.path("p.fprog")],
                          ["inspect", self.path("x.npy")], ["run", self.path("p.fprog")],
                          ["compile", self.path("g.txt"), "-o", self.path("q.fprog")]):
            for stream, words in ((">/dev/full", "No space left"), (">&-", "Bad file descriptor")):
                done = subprocess.run(["sh", "-c", f'exec "$0" "$@" {stream}', FORGE, *arguments], stderr=subprocess.PIPE, text=True,
                                      timeout=60, check=False)
                self.assertEqual(done.returncode, 125, arguments)
                self.assertIn("cannot write to standard output: " + words, done.stderr)

    def test_output_is_refused_before_the_work(self):
        """A refused output must be reported before anything is printed: no passes, no launches, no table."""
        for arguments in (["inspect", self.path("g.txt"), "--html"], ["inspect", self.path("p.fprog"), "--step", "--html"],
                          ["run", self.path("p.fprog"), "--html"], ["run", self.path("p.fprog"), "--save-states"],
                          ["compile", self.path("g.txt"), "--passes", "-o"]):
            self.bad(125, "cannot write /nosuch/x: No such file", *arguments, "/nosuch/x")
        self.bad(125, "cannot write /nosuch/y: No such file", "run", self.path("p.fprog"), "--get", "y=/nosuch/y")
        for code, arguments in ((2, ["bench", "--json"]), (2, ["check", "--json"])):
            self.bad(code, "cannot write /nosuch/x: No such file", *arguments, "/nosuch/x")

    def test_inputs_are_not_written_over(self):
        os.symlink("g.txt", self.path("same.txt"))
        for name, arguments in (("g.txt", ["compile", self.path("g.txt"), "-o", self.path("g.txt")]),
                                ("g.txt", ["compile", self.path("g.txt"), "-o", self.path("same.txt")]),
                                ("g.txt", ["inspect", self.path("g.txt"), "--html", self.path("./g.txt")]),
                                ("p.fprog", ["run", self.path("p.fprog"), "--get", "y=" + self.path("p.fprog")]),
                                ("x.npy", ["run", self.path("p.fprog"), "--set", "x=" + self.path("x.npy"), "--get",
                                           "y=" + self.path("x.npy")])):
            with open(self.path(name), "rb") as file:
                before = file.read()
            self.bad(125, "is named twice", *arguments)
            with open(self.path(name), "rb") as file:
                self.assertEqual(file.read(), before)

    def test_only_files_are_replaced(self):
        """A result is written by renaming a temporary file, which would replace a device. A device must be
        refused."""
        pipe, link, target = self.path("pipe"), self.path("link"), self.path("target")
        os.mkfifo(pipe)
        for path, words in ((pipe, "not a regular file"), (self.folder, "Is a directory")):
            self.bad(125, words, "compile", self.path("g.txt"), "-o", path)
            self.bad(125, words, "run", self.path("p.fprog"), "--get", "y=" + path)
            self.bad(125, words, "run", self.path("p.fprog"), "--save-states", path)
        self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))
        with open(target, "w", encoding="ascii"):
            pass
        os.chmod(target, 0o600)
        os.symlink("target", link)
        self.assertEqual(self.forge("compile", self.path("g.txt"), "-o", link).returncode, 0)
        self.assertTrue(os.path.islink(link))
        self.assertEqual((os.stat(target).st_mode & 0o777, os.stat(target).st_size > 0), (0o600, True))

    def test_damaged_files_never_crash(self):
        for name in ("g.txt", "p.fprog", "w.safetensors", "x.npy"):
            self.assert_never_crashes(name, "inspect", "FILE", may_pass=True)
        self.assert_never_crashes("p.fprog", "run", "FILE", may_pass=False)
        self.assert_never_crashes("g.txt", "compile", "FILE", "-o", self.path("w.fprog"), may_pass=True)
        self.assert_never_crashes("w.safetensors", "run", self.path("p.fprog"), "--states", "FILE", may_pass=True)
        self.assert_never_crashes("x.npy", "run", self.path("p.fprog"), "--set", "x=FILE", may_pass=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
