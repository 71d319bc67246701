"""A shell in a real terminal (tmux), for program tests that type and read the screen."""
import os
import shutil
import subprocess
import tempfile
import unittest

from run_support import wait_until


@unittest.skipUnless(shutil.which("tmux"), "there is no tmux")
class Tmux(unittest.TestCase):
    FIRST = "true"  # the command that the shell runs before each test

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        environment = dict(os.environ, PS1="$ ", TERM="screen", LC_ALL="C.UTF-8")
        for name in ("TMUX", "NO_COLOR"):
            environment.pop(name, None)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", "bash --noprofile --norc -i", env=environment,
                  cwd=self.folder.name)
        self.addCleanup(self.tmux, "kill-server", check=False)
        self.type(f"{self.FIRST}; PS1='$ '; clear", "Enter")
        self.expect("$")

    def tmux(self, *words, check=True, **options):
        """Runs tmux with these arguments. Returns its output."""
        command = ["tmux", "-S", os.path.join(self.folder.name, "tmux"), *words]
        return subprocess.run(command, check=check, stdout=subprocess.PIPE, text=True, **options).stdout.rstrip()

    def type(self, *keys):
        self.tmux("send-keys", *keys)

    def screen(self, *options):
        return self.tmux("capture-pane", "-p", *options) + "\n"

    def expect(self, *pieces):
        try:
            wait_until(lambda: all(piece in self.screen() for piece in pieces), pieces)
        except AssertionError as error:
            raise AssertionError(f"{error}; the screen shows:\n{self.screen()}") from None
