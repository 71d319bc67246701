#!/usr/bin/env python3
"""Checks `joule run` under a shell with job control, in a real terminal (tmux): Ctrl-Z, fg, bg and
full-screen programs."""
import os
import shutil
import unittest

from run_support import JOULE, main, wait_until
from tmux_support import Tmux


class JobControl(Tmux):
    FIRST = f"J='{JOULE} run -q --'"

    def foreground(self, *shown):
        """Types fg and waits for new text on the screen, not for text that was there before."""
        self.times = getattr(self, "times", 0) + 1
        self.type(f"clear; echo again {self.times}; fg", "Enter")
        self.expect(f"again {self.times}\n$J", *shown)

    def test_stopped_command_resumes_in_the_foreground(self):
        self.type("$J sh -c 'echo up; read line; echo got $line; exit 4'", "Enter")
        self.expect("\nup")
        self.type("C-z")
        self.expect("Stopped")
        self.type("clear; jobs", "Enter")
        self.expect("Stopped")
        self.foreground()
        self.type("hello", "Enter")
        self.expect("got hello")
        self.type("echo code=$?", "Enter")
        self.expect("code=4")

    def test_command_can_be_stopped_twice(self):
        self.type("$J sh -c 'echo up; exec cat'", "Enter")
        self.expect("\nup")  # the program now has the terminal; keys typed before this may be lost
        for word in ("one", "two"):
            self.type(word, "Enter")
            self.expect(f"{word}\n{word}")
            self.type("C-z")
            self.expect("Stopped")
            self.foreground()
        self.type("three", "Enter")
        self.expect("three\nthree")
        self.type("C-d")
        self.type("clear; echo code=$?", "Enter")
        self.expect("code=0")

    def test_background_command_ends_with_its_status(self):
        self.type("$J sh -c 'sleep 0.5; echo woke; exit 3' & wait $!; echo code=$?", "Enter")
        self.expect("woke", "code=3")

    def test_background_that_reads_is_stopped(self):
        self.type("$J cat &", "Enter")
        self.expect("[1]")
        wait_until(lambda: self.type("Enter") or "Stopped" in self.screen(), "the shell to say it before a prompt")
        self.foreground()
        self.type("word", "Enter")
        self.expect("word\nword")
        self.type("C-d")
        self.type("clear; echo code=$?", "Enter")
        self.expect("code=0")

    def test_stopped_job_continues_in_the_background(self):
        self.type("$J sh -c 'echo up; sleep 1; echo end'", "Enter")
        self.expect("\nup")
        self.type("C-z")
        self.expect("Stopped")
        self.type("bg", "Enter")
        self.expect("end\n")

    def test_jobs_in_a_pipeline_end_normally(self):
        self.type("$J seq 1 3 | $J sed s/$/x/ | tail -n 1; echo code=${PIPESTATUS[0]}", "Enter")
        self.expect("3x", "code=0")

    def test_status_of_a_killed_job_is_143(self):
        self.type("$J sleep 1000 &", "Enter", "kill %1; wait %1; echo code=$?", "Enter")
        self.expect("code=143")

    @unittest.skipUnless(shutil.which("less"), "there is no less")
    def test_pager_can_be_stopped_and_resumed(self):
        with open(os.path.join(self.folder.name, "long"), "w", encoding="utf-8") as file:
            file.writelines(f"line {i}\n" for i in range(1000))
        self.type("$J less long", "Enter")
        self.expect("line 28")
        self.type("C-z")
        self.expect("Stopped")
        self.type("clear; fg", "Enter")
        self.expect("line 28")
        self.type("G")
        self.expect("line 999")
        self.type("q")
        self.type("clear; echo code=$?", "Enter")
        self.expect("code=0")

    @unittest.skipUnless(shutil.which("vi"), "there is no vi")
    def test_editor_can_be_stopped_and_resumed(self):
        path = os.path.join(self.folder.name, "text")
        self.type("$J vi text", "Enter")
        self.expect("~\n~")
        self.type("i", "first line", "Escape", "C-z")
        self.expect("Stopped")
        self.type("clear; fg", "Enter")
        self.expect("first line", "~\n~")
        self.type("o", "second line", "Escape", ":wq", "Enter")
        self.expect("$")
        wait_until(lambda: os.path.exists(path), "the file")
        self.type("clear; cat text; stty -a | grep -o ' icanon'; echo code=$?", "Enter")
        self.expect("first line\nsecond line", " icanon", "code=0")


if __name__ == "__main__":
    main()
