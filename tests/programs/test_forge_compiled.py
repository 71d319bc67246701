#!/usr/bin/env python3
"""Checks `--compiled` of `forge run`, `train` and `bench`, and `forge inspect --source`.

Compiled code must give the same bits. Without a compiler, the programs must say so and give the same bits, too.
"""
import os
import shutil
import subprocess
import tempfile
import unittest

FORGE = os.environ.get("FORGE", "build/release/tools/forge/forge")
GRAPH = """forge graph 1
slot "w" : f32[700,100] = uniform(-2, 2)
%1 = read "w" : f32[700,100]
%2 = input "b" : f32[100]
%3 = binary.add(%1, %2) : f32[700,100]
%4 = unary.gelu(%3) : f32[700,100]
%5 = binary.gt(%4, %2) : bool[700,100]
%6 = select(%5, %4, %1) : f32[700,100]
output "y" = %6
"""
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


class Compiled(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.environment = dict(os.environ, XDG_CACHE_HOME=self.path("cache"))
        self.environment.pop("CC", None)
        with open(self.path("g.txt"), "w", encoding="ascii") as file:
            file.write(GRAPH)
        self.forge("compile", self.path("g.txt"), "-o", self.path("p.fprog"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def forge(self, *arguments, code=0):
        done = subprocess.run([FORGE, *arguments], capture_output=True, text=True, check=False,
                              env=self.environment, timeout=300)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def output(self, *options):
        """Returns the bytes of the output, and the messages."""
        done = self.forge("run", self.path("p.fprog"), "--get", "y=" + self.path("y.npy"), *options)
        with open(self.path("y.npy"), "rb") as file:
            return file.read(), done.stderr

    def files(self):
        return sorted(os.listdir(self.path("cache/joule/forge")))

    @unittest.skipUnless(COMPILER, "there is no C compiler")
    def test_compiled_code_gives_the_same_bits(self):
        plain, _ = self.output()
        self.assertFalse(os.path.exists(self.path("cache")))
        compiled, messages = self.output("--compiled")
        self.assertNotIn("compile", messages)
        self.assertEqual(compiled, plain)
        self.assertEqual(len(self.files()), 1)
        again, _ = self.output("--compiled")
        self.assertEqual(again, plain)
        self.assertEqual(len(self.files()), 1)

    def test_a_missing_compiler_is_reported(self):
        plain, _ = self.output()
        self.environment["CC"] = "/nonexistent/cc"
        compiled, messages = self.output("--compiled")
        self.assertIn("forge run: cannot compile fused operations: there is no program CC=/nonexistent/cc", messages)
        self.assertEqual(compiled, plain)

    def test_a_failing_compiler_is_reported(self):
        plain, _ = self.output()
        self.environment["CC"] = "false"
        compiled, messages = self.output("--compiled")
        self.assertIn("1 of 1 groups of fused operations are not compiled: cannot compile with false", messages)
        self.assertEqual(compiled, plain)

    @unittest.skipUnless(COMPILER, "there is no C compiler")
    def test_a_folder_that_others_may_write_is_reported(self):
        os.mkdir(self.path("cache"))
        os.chmod(self.path("cache"), 0o777)
        plain, _ = self.output()
        compiled, messages = self.output("--compiled")
        self.assertIn("another user could write to", messages)
        self.assertIn("set XDG_CACHE_HOME", messages)
        self.assertEqual(compiled, plain)

    def test_sources_are_printed(self):
        for file in "p.fprog", "g.txt":
            for dialect, words in (("c", "void forge_group("), ("opencl", "__kernel void forge_group("),
                                   ("cuda", "__global__ void forge_group("), ("hip", "hip_runtime.h"),
                                   ("metal", "kernel void forge_group(device const float *in0 [[buffer(0)]]")):
                text = self.forge("inspect", self.path(file), "--source", dialect).stdout
                self.assertIn(words, text)
                self.assertEqual(text.count("/* launch"), 1)

    def test_sources_of_nothing_are_refused(self):
        done = self.forge("inspect", self.path("p.fprog"), "--source", "pascal", code=125)
        self.assertIn("unknown dialect 'pascal'; known: c, opencl, cuda, hip, metal", done.stderr)
        with open(self.path("none.txt"), "w", encoding="ascii") as file:
            file.write('forge graph 1\n%1 = input "x" : f32[3]\n%2 = unary.exp(%1) : f32[3]\noutput "y" = %2\n')
        done = self.forge("inspect", self.path("none.txt"), "--source", "c", code=125)
        self.assertIn("the program has no fused elementwise operations", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
