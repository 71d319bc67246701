#!/usr/bin/env python3
"""Checks `forge train` on generated digits: it learns, sums add up, runs repeat bit by bit, and errors are
reported."""
import fcntl
import gzip
import json
import os
import pty
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

import run_support
import schema_check
import sums

JOULE = os.environ.get("JOULE", "build/release/tools/joule/joule")
FORGE = os.environ.get("FORGE", "build/release/tools/forge/forge")


def write_idx(path, shape, data):
    with gzip.open(path, "wb") as file:
        file.write(struct.pack(">BBBB", 0, 0, 8, len(shape)) + b"".join(struct.pack(">I", n) for n in shape) + bytes(data))


def write_digits(folder, kind, count, seed):
    """Writes a data set in which class c is a bright bar in row band c, with noise. It is easy, but must be
    learnt."""
    rng = random.Random(seed)
    labels = [rng.randrange(10) for _ in range(count)]
    pixels = bytearray()
    for label in labels:
        image = bytearray(rng.randrange(60) for _ in range(784))
        for row in (2 * label + 3, 2 * label + 4):
            image[row * 28 + 4:row * 28 + 24] = bytes([200] * 20)
        pixels += image
    write_idx(os.path.join(folder, f"{kind}-images-idx3-ubyte.gz"), (count, 28, 28), pixels)
    write_idx(os.path.join(folder, f"{kind}-labels-idx1-ubyte.gz"), (count,), labels)


def checkpoint(path):
    """Returns the metadata of a safetensors file and the bytes of its tensors, without energy and id, which
    differ in each run."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header, data = json.loads(file.read(size)), file.read()
    texts = header.pop("__metadata__")
    energy = {key: texts.pop(key) for key in list(texts) if key.startswith("forge.energy") or key == "train.id"}
    return header, data, texts, energy


def spent(path):
    """Returns the joules in the file beside a checkpoint; 0 if the file does not exist yet."""
    try:
        with open(path + ".joules", encoding="ascii") as file:
            return float(re.search(r"^joules (\S+)", file.read(), re.M).group(1))
    except FileNotFoundError:
        return 0


class Train(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        write_digits(cls.folder.name, "train", 640, 1)
        # 130 examples: the number is neither 500 nor a divisor of 500, so the last batch is incomplete.
        write_digits(cls.folder.name, "t10k", 130, 2)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def forge(self, *arguments, data=None):
        return subprocess.run([FORGE, "train", "--data", data or self.folder.name, *arguments], capture_output=True,
                              text=True, timeout=120, check=False)

    def test_mlp_learns(self):
        done = self.forge("-e", "3", "-b", "32")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = [float(x) for x in re.findall(r"accuracy ([\d.]+) % on 130", done.stderr)]
        self.assertEqual(len(found), 3)
        self.assertGreater(found[-1], 95)
        self.assertIn("mlp/fc1", done.stdout)
        self.assertRegex(done.stdout, r"modelled|measured|derived")

    def test_a_convolutional_network_learns(self):
        done = self.forge("--model", "cnn", "-e", "2", "-b", "32")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(float(re.findall(r"accuracy ([\d.]+) % on 130", done.stderr)[-1]), 80)
        self.assertIn("cnn/conv2", done.stdout)

    def test_a_residual_network_learns(self):
        done = self.forge("--model", "resnet18", "--width", "4", "-e", "1", "-b", "32", "-o", "adamw", "-l", "0.01")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(float(re.findall(r"accuracy ([\d.]+) % on 130", done.stderr)[-1]), 80)
        self.assertIn("layer4/1", done.stdout)

    def test_residual_blocks_computed_again_give_the_same_bits(self):
        kept, again = (self.report("-m", "resnet18", "--width", "4", "-e", "1", "-b", "128", *options) for options in ([], ["--recompute"]))
        self.assertEqual([(e["loss"], e["accuracy"]) for e in kept["epochs"]], [(e["loss"], e["accuracy"]) for e in again["epochs"]])
        self.assertLess(1.2 * again["arena"]["planned_bytes"], kept["arena"]["planned_bytes"])
        done = self.forge("--recompute")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--recompute is for gpt and resnet18, not mlp", done.stderr)

    def test_same_seed_same_losses_whatever_the_threads(self):
        def losses(*arguments):
            done = self.forge("-e", "2", "-b", "32", *arguments)
            return re.findall(r"loss ([\d.]+)", done.stderr) + re.findall(r"accuracy ([\d.]+)", done.stderr)
        first = losses("-t", "1")
        self.assertEqual(len(first), 4)
        self.assertEqual(losses("-t", "2"), first)
        self.assertNotEqual(losses("--seed", "2"), first)

    def test_estimated_device_predicts_time_and_energy(self):
        done = self.forge("-b", "32", "-e", "50", "--device", "estimated")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"Nothing was trained.*\n.* [num]?s \(.*\)/step and .* [num]?J \(.*\)/step \(modelled\), 1000 steps")
        self.assertRegex(done.stdout, r"mlp/fc1 +forward +fused_matmul .* % .* [num]?J \(.*, modelled\)")
        self.assertNotIn("by the whole machine", done.stdout)
        report = self.report("-b", "32", "-e", "50", "--device", "estimated")
        schema_check.validator("forge-train").validate(report)
        self.assertEqual((report["end"], report["options"]["device"], report["epochs"], report["steps"], report["class"]),
                         ("estimated", "estimated", [], 1000, "modelled"))
        matmul = [o for o in report["operations"] if (o["layer"], o["phase"], o["operation"]) == ("mlp/fc1", "forward", "fused_matmul")]
        self.assertEqual(len(matmul), 1)
        self.assertGreater(matmul[0]["energy_joules"], 0)
        self.assertAlmostEqual(sum(o["energy_joules"] for o in report["operations"]) / report["energy_joules"], 1, 6)
        path = self.path("j")
        self.assertIn("Nothing was trained", self.forge("--device", "estimated", "-j", path).stdout)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["end"], "estimated")
        for arguments in (["-c", self.path("c")], ["--budget", "5J"]):
            done = self.forge("--device", "estimated", *arguments)
            self.assertEqual((done.returncode, done.stdout), (125, ""))
            self.assertRegex(done.stderr, r"cannot use --\w+: the device estimated only estimates")
        self.assertIn("unknown device 'abacus'", self.forge("--device", "abacus").stderr)

    def test_interrupt_ends_after_a_step_and_reports(self):
        with subprocess.Popen([FORGE, "train", "--data", self.folder.name, "-e", "100000", "-b", "32"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            self.assertIn("epoch 1/", child.stderr.readline())
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 130, err)
        self.assertIn("mlp/fc1", out)

    def test_the_live_line_is_cut_to_the_terminal(self):
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 50, 0, 0))
        with subprocess.Popen([FORGE, "train", "--data", self.folder.name, "-m", "cnn", "-e", "8", "-b", "32"],
                              stdout=subprocess.DEVNULL, stderr=theirs) as child:
            os.close(theirs)
            text = b""
            try:
                while piece := os.read(ours, 65536):
                    text += piece
            except OSError:
                pass  # on Linux this means that the other end of the pipe is closed
        os.close(ours)
        self.assertEqual(child.returncode, 0)
        lines = [line for line in text.decode().split("\r\x1b[K")[1:] if not line.endswith("\n")]
        self.assertTrue(lines)
        self.assertEqual({len(line) for line in lines}, {49})

    def test_files_are_written_although_the_table_has_no_reader(self):
        report, page = self.path("report.json"), self.path("page.html")
        command = [FORGE, "train", "--data", self.folder.name, "-e", "1", "-b", "32", "-j", report, "--html", page]
        reads, writes = os.pipe()
        os.close(reads)
        done = subprocess.run(command, stdout=writes, stderr=subprocess.PIPE, timeout=60, check=False,
                              restore_signals=True)
        os.close(writes)
        self.assertEqual(done.returncode, -signal.SIGPIPE)
        with open(report, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["steps"], 20)
        self.assertGreater(os.path.getsize(page), 1000)
        with open("/dev/full", "wb") as full:
            done = subprocess.run(command[:-4], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 125)
        self.assertIn("cannot write to standard output: No space left", done.stderr)

    def test_estimate_is_written_as_a_page(self):
        page = self.path("page.html")
        done = self.forge("-b", "32", "-e", "1", "--device", "estimated", "--html", page)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(page, encoding="utf-8") as file:
            self.assertIn("fc1", file.read())

    def path(self, name):
        """Returns the path of a new file."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return os.path.join(folder.name, name)

    def interrupted(self, arguments, number=signal.SIGINT):
        """Interrupts a training at the end of an epoch."""
        with subprocess.Popen([FORGE, "train", "--data", self.folder.name, *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as child:
            self.assertRegex(child.stderr.readline(), "^epoch ")
            self.assertIn("accuracy", child.stderr.readline())
            child.send_signal(number)
            child.communicate(timeout=60)
            return child.returncode

    def report(self, *arguments, code=0):
        done = self.forge(*arguments, "--json", "-")
        self.assertEqual(done.returncode, code, done.stderr)
        return json.loads(done.stdout)

    def assert_same(self, options, parts):
        """Checks that a training that continues from `parts` ends with the same result as an uninterrupted
        one."""
        whole, middle = self.path("whole"), checkpoint(parts)
        first, last = self.report(*options, "-c", whole), self.report(*options, "-c", parts, "--resume")
        self.assertEqual(last["steps_before"], int(middle[2]["forge.step"]))
        self.assertEqual(first["steps"], last["steps"])
        for expected, found in zip(reversed(first["epochs"]), reversed(last["epochs"])):
            for key in ("epoch", "loss", "accuracy"):
                self.assertEqual(expected[key], found[key])
        self.assertEqual(checkpoint(whole)[:3], checkpoint(parts)[:3])
        self.assertGreater(last["energy_joules"], float(middle[3]["forge.energy_joules"]))

    def test_a_resumed_training_has_the_bits_of_one_that_was_not_interrupted(self):
        for options in (["-b", "32"], ["-b", "32", "--optimiser", "adamw"]):
            parts = self.path("parts")
            endless = [*options, "-e", "100000", "-c", parts, "-r"]
            self.assertEqual(self.interrupted(endless), 130)
            self.assertEqual(self.interrupted([*endless, "-t", "1"], signal.SIGTERM), 143)
            options += ["-e", str(int(checkpoint(parts)[2]["forge.epoch"]) + 2)]
            self.assert_same(options, parts)
            done = self.forge(*options, "-c", parts, "-r")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("epochs are done", done.stderr)

    def test_kills_at_any_moment_change_no_bit(self):
        kills = 50 if run_support.IS_FULL else 8
        parts, rng = self.path("parts"), random.Random(11)
        options = ["-b", "32", "--optimiser", "adamw", "-e"]
        for _ in range(kills):
            with subprocess.Popen([FORGE, "train", "--data", self.folder.name, *options, "100000", "-c", parts, "-r"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as child:
                self.assertRegex(child.stderr.readline(), "^epoch ")  # each interrupted training finished an epoch
                time.sleep(rng.random() * 0.2)
                child.kill()
                child.communicate(timeout=60)
            if os.path.exists(parts):
                checkpoint(parts)  # the checkpoint is complete
        self.assert_same([*options, str(int(checkpoint(parts)[2]["forge.epoch"]) + 2)], parts)

    def test_resumed_schedule_continues(self):
        options = ["-b", "32", "-e", "8", "--schedule", "cosine", "--warmup", "30", "--clip", "1"]
        parts = self.path("parts")
        done = self.forge(*options, "-c", parts, "--budget", "0.2J")
        self.assertIn(done.returncode, (0, 124), done.stderr)
        self.assert_same(options, parts)

    def test_checkpoint_of_another_model_is_refused(self):
        path = self.path("checkpoint")
        self.assertEqual(self.forge("-e", "1", "-b", "32", "-c", path).returncode, 0)
        before = checkpoint(path)
        for other, words in ((["-b", "64"], "written with --batch 32, not 64"), (["-s", "2"], "written with --seed 1, not 2"),
                             (["-m", "cnn"], "written with --model mlp, not cnn"),
                             (["-o", "adamw"], "written with --optimiser sgd, not adamw")):
            done = self.forge("-b", "32", "-c", path, "-r", *other)
            self.assertEqual(done.returncode, 125, other)
            self.assertIn(words, done.stderr)
        with tempfile.TemporaryDirectory() as fewer:
            write_digits(fewer, "train", 320, 1)
            write_digits(fewer, "t10k", 20, 2)
            done = self.forge("-b", "32", "-e", "4", "-c", path, "-r", data=fewer)
            self.assertEqual(done.returncode, 125)
            self.assertIn("10 batches in an epoch", done.stderr)
        done = self.forge("-b", "32", "-c", path)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--resume continues from it", done.stderr)
        self.assertEqual(checkpoint(path), before)
        with open(path, "wb") as file:
            file.write(b"no checkpoint")
        self.assertEqual(self.forge("-b", "32", "-c", path, "-r").returncode, 125)

    def test_a_spent_budget_ends_with_a_checkpoint(self):
        path, options = self.path("checkpoint"), ["-e", "100000", "-b", "32", "--budget", "8J"]
        done = self.forge(*options, "-c", path, "--json", "-")
        self.assertEqual(done.returncode, 124, done.stderr)
        self.assertIn("more than 80 % of the budget of 8.00 J", done.stderr)
        self.assertIn("more than the budget of 8.00 J", done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["end"], "over_budget")
        self.assertGreaterEqual(report["energy_joules"], 7.2)  # modelled values may be corrected slightly
        kept = float(checkpoint(path)[3]["forge.energy_joules"])
        self.assertGreaterEqual(kept, 7.2)
        again = self.report(*options, "-c", path, "-r", code=124)
        self.assertLess(again["steps"] - again["steps_before"], 1000)
        self.assertGreater(again["energy_joules"], kept)

    def kill_when_spent(self, arguments, path, joules):
        """Kills a training when its file has reached this energy. Returns the joules in the file after the
        kill."""
        with subprocess.Popen([FORGE, "train", *arguments, "-c", path, "-r"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
            end = time.monotonic() + 100
            while spent(path) < joules:
                self.assertIsNone(child.poll())
                self.assertLess(time.monotonic(), end)
                time.sleep(0.02)
            child.kill()
        return spent(path)

    # If a training is killed, steps since the last checkpoint are lost, but their joules still count. The
    # test kills a training before and after its first checkpoint.
    def test_joules_of_redone_steps_count(self):
        path, book = self.path("checkpoint"), self.path("book")
        with open(book, "w", encoding="ascii") as file:
            # The text is so long that an epoch does not end in this test.
            file.write("".join(chr(97 + i * i % 23) for i in range(2000000)))
        options = ["-m", "gpt", "--layers", "1", "--width", "32", "-b", "1", "--sample", "0"]
        used = self.kill_when_spent([*options, "--data", book], path, 0.3)
        again = self.kill_when_spent([*options, "--data", book], path, used + 0.3)
        self.assertFalse(os.path.exists(path))

        def go_on(joules):
            done = self.forge(*options, "-c", path, "-r", "--budget", f"{joules}J", data=book)
            self.assertEqual(done.returncode, 124, done.stderr)
            return done
        done = go_on(again + 0.3)
        total = spent(path)
        self.assertGreaterEqual(total, again + 0.29)
        self.assertIn("after the checkpoint that this run began with", done.stdout)
        self.assertAlmostEqual(float(checkpoint(path)[3]["forge.energy_joules"]) / total, 1, delta=0.1)
        more = self.kill_when_spent([*options, "--data", book], path, total + 0.3)
        self.assertAlmostEqual(float(checkpoint(path)[3]["forge.energy_joules"]) / total, 1, delta=0.1)
        done = go_on(more)  # the whole budget is already spent
        self.assertIn("more than the budget", done.stderr)
        self.assertGreaterEqual(spent(path), more)

    def test_the_file_of_joules_belongs_to_its_training(self):
        path, options = self.path("checkpoint"), ["-b", "640", "-e"]
        self.assertIn("is named twice", self.forge("-c", path, "--json", path + ".joules").stderr)
        self.assertEqual(self.forge(*options, "1", "-c", path).returncode, 0)
        with open(path + ".joules", encoding="ascii") as file:
            text = file.read()
        self.assertIn(checkpoint(path)[3]["train.id"], text)
        for wrong in ("", "noise", text[:-1], text.replace("joules 1", "joules 2"), text.replace("class ", "class x"), text + "more\n",
                      re.sub(r"\njoules .*", "\njoules nan 0 0", text), re.sub(r"\njoules .*", "\njoules 3 4 5", text), "x" * 100000):
            with open(path + ".joules", "w", encoding="ascii") as file:
                file.write(wrong)
            done = self.forge(*options, "2", "-c", path, "-r")
            self.assertEqual(done.returncode, 125, wrong)
            self.assertIn("not the joules of a training; if you remove it", done.stderr)
        os.unlink(path + ".joules")
        done = self.forge(*options, "2", "-c", path, "-r")
        self.assertEqual(done.returncode, 0)
        self.assertIn("joules since the last checkpoint are not counted", done.stderr)
        with open(path + ".joules", "w", encoding="ascii") as file:
            file.write(re.sub(r"\njoules .*", "\njoules 1e9 1e9 1e9", text.replace(checkpoint(path)[3]["train.id"], "0" * 16)))
        done = self.forge(*options, "3", "-c", path, "-r", "--budget", "1MJ")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("belongs to another training", done.stderr)
        os.unlink(path)  # the training restarts, so the energy of the previous one does not count
        done = self.forge(*options, "1", "-c", path, "-r", "--budget", "1MJ")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("belongs to another training", done.stderr)

    def test_non_finite_loss_ends_the_training(self):
        path = self.path("checkpoint")
        done = self.forge("-b", "32", "-l", "1e30", "-c", path)
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stderr, r"the loss of step (\d+) is -?(nan|inf)(.|\n)* step \1: composite\.fused_matmul @mlp/fc\d \(forward\) computed -?(nan|inf) at "
                         r"\[\d+,\d+\] of f32\[32,\d+\].*; from .* \"mlp\.fc\d\.weight\" f32\[\d+,\d+\] \S+e\+\d+ to ")
        self.assertFalse(os.path.exists(path))
        self.assertEqual(self.forge("-b", "640", "-e", "1", "-c", path).returncode, 0)
        before = checkpoint(path)
        done = self.forge("-b", "640", "-e", "2", "-c", path, "-r", "-l", "1e300")
        self.assertEqual(done.returncode, 125)
        self.assertRegex(done.stderr, r"step 2 has set element \d+ of mlp\.fc1\.weight to -?(nan|inf)")
        self.assertIn('step 2: the input contains inf at [] of "learning_rate" f32[]', done.stderr)
        self.assertIn("still contains the previous checkpoint", done.stderr)
        self.assertEqual(checkpoint(path), before)

    def test_json_follows_its_schema(self):
        validator = schema_check.validator("forge-train")
        path = self.path("report.json")
        done = self.forge("-e", "2", "-b", "32", "--json", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("mlp/fc1", done.stdout)
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        adamw = self.report("-o", "adamw", "--clip", "2", "-e", "1", "-b", "64", "-t", "1", "--budget", "1MJ")
        for valid in (report, adamw):
            validator.validate(valid)
        self.assertEqual(report["parameters"], 784 * 128 + 128 + 128 * 10 + 10)
        self.assertEqual([e["epoch"] for e in report["epochs"]], [1, 2])
        self.assertLessEqual(report["arena"]["bound_bytes"], report["arena"]["planned_bytes"])
        self.assertEqual((adamw["options"]["momentum"], adamw["options"]["clip"]), (None, 2))
        self.assertTrue(any(o["layer"] == "mlp/fc2" and o["operation"] == "matmul" for o in report["operations"]))
        for key in ("end", "energy_joules", "epochs", "operations"):
            self.assertFalse(validator.is_valid({k: v for k, v in report.items() if k != key}), key)
        self.assertFalse(validator.is_valid({**report, "end": "perhaps"}))

    def run_and_own_energy(self):
        """Returns the joules that `joule run` attributes to a training, and the training's own report."""
        outer, within = self.path("outer"), self.path("inner")
        done = subprocess.run([JOULE, "run", "--json", outer, "--", FORGE, "train", "--data", self.folder.name, "-e", "20", "-b", "32",
                               "--json", within], capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(outer, encoding="utf-8") as run, open(within, encoding="utf-8") as own:
            return json.load(run)["command"]["energy_joules"], json.load(own)

    # Even if other processes are busy, `joule run` attributes to the command the sum of its operations and of
    # the time between them. A delay at the end of one window can exceed a short training's energy, so the
    # median of three trainings is checked.
    def test_energy_of_other_processes_is_not_attributed(self):
        neighbours = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
        try:
            report = self.report("-e", "4", "-b", "32")
            pairs = [self.run_and_own_energy() for _ in range(3)]
        finally:
            for neighbour in neighbours:
                neighbour.kill()
                neighbour.wait()
        if report["energy_of"] != "process":
            self.skipTest("a sensor measures this machine's processor")
        for _, own in pairs:
            self.assertEqual(own["energy_of"], "process")
        ratio = sorted(own["run_energy_joules"] / command for command, own in pairs)[1]
        self.assertLessEqual(ratio, 1.05)
        self.assertGreater(ratio, 0.2)

    # Checks that rows, time between operations and unattributed energy add up to the head. Text and JSON of
    # one run must show the same values.
    def test_every_table_adds_up(self):
        for model in (["-m", "mlp"], ["-m", "cnn", "-b", "32"]):
            path = self.path("sums")
            done = self.forge("-e", "2", "--json", path, *model)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
            os.unlink(path)
            total = report["run_energy_joules"]
            parts = sum(o["energy_joules"] for o in report["operations"]) + report["unattributed_joules"]
            self.assertAlmostEqual(parts / total, 1, 9)
            self.assertAlmostEqual(report["energy_joules"] / total, 1, 12)
            self.assertTrue(any(o["operation"] is None for o in report["operations"]))
            head = re.search(r"^([\d.]+) (\w?J) \(.*\) in [\d.]+ s by ", done.stdout, re.M)
            self.assertIsNotNone(head, done.stdout)
            self.assertAlmostEqual(sums.joules(*head.groups()) / total, 1, delta=0.006)
            rows = sums.energies(done.stdout[head.end():done.stdout.index(" each step of")].rsplit("\n\n", 1)[0])
            self.assertIn("(between operations)", done.stdout)
            self.assertGreater(len(rows), 5)
            self.assertAlmostEqual(sum(rows) / total, 1, delta=0.006)
            # The epochs exclude the time before the first and after the last.
            epochs = sum(e["energy_joules"] for e in report["epochs"])
            self.assertGreater(epochs, 0)
            self.assertLessEqual(epochs, total * (1 + 1e-9))
            step = sums.joules(*re.search(r"^([\d.]+) (\w?J) .* each step of", done.stdout, re.M).groups())
            self.assertAlmostEqual(step * report["steps"] / total, 1, delta=0.006)

    def test_below_joule_run_operations_have_their_joules(self):
        done = subprocess.run([JOULE, "run", "--interval", "10ms", "--", FORGE, "train", "--data", self.folder.name,
                               "-e", "60", "--json", "-"], capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        shares = [operation["energy_joules"] for operation in report["operations"]]
        self.assertGreater(sum(shares), 0)  # None (unknown) would make this fail
        self.assertLess(sum(shares), 1.001 * report["energy_joules"])

    def test_wrong_arguments_are_refused(self):
        with tempfile.TemporaryDirectory() as empty:
            done = self.forge(data=empty)
            self.assertEqual(done.returncode, 125)
            self.assertIn("train-images", done.stderr)
        nowhere = self.path("nowhere")
        for arguments, words in ((["--model", "abacus"], "unknown model 'abacus'"), (["-b", "0"], "from 1 to"),
                                 (["--learning-rate", "fast"], "takes a number"), (["--epcohs", "1"], "did you mean --epochs"),
                                 (["extra"], "unexpected argument 'extra'"), (["-o", "sdg"], "unknown optimiser 'sdg'"),
                                 (["--schedule", "x"], "unknown schedule 'x'"), (["-s", "1.5"], "whole number"),
                                 (["-o", "adamw", "--momentum", "0.5"], "adamw has none"), (["--budget", "5W"], "--budget"),
                                 (["--resume"], "--checkpoint FILE"), (["-c", os.path.join(nowhere, "x")], "cannot write"),
                                 (["-j", os.path.join(nowhere, "x")], "cannot write"),
                                 (["-c", self.folder.name], "Is a directory")):
            done = self.forge(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(words, done.stderr)
        done = self.forge("-b", "641")
        self.assertEqual(done.returncode, 125)
        self.assertIn("a smaller --batch", done.stderr)
        self.assertIn("is a folder, not a file", self.forge("-m", "gpt").stderr)
        done = subprocess.run([FORGE, "train"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, "--data" in done.stderr), (2, True))
        done = subprocess.run([FORGE, "train", "--resume", "a", "--data", "b"], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, "unexpected argument 'a'" in done.stderr), (2, True), done.stderr)

    def test_help_and_unknown_subcommands(self):
        run = lambda *a: subprocess.run([FORGE, *a], capture_output=True, text=True, check=False)
        self.assertIn("train", run("--help").stdout)
        self.assertRegex(run("--version").stdout, r"^forge \d+\.\d+\.\d+$")
        self.assertIn("--epochs", run("train", "--help").stdout)
        self.assertEqual(run("train", "--help").stdout, run("help", "train").stdout)
        self.assertIn("did you mean 'train'", run("trian").stderr)
        self.assertEqual(run("trian").returncode, 2)
        self.assertEqual(run().returncode, 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
