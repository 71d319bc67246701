#!/usr/bin/env python3
"""Checks that `forge serve` gives tools, calls of tools and documents to the chat template of a model.

The model is stories260K in a GGUF file with a template. All checks are skipped if it is absent (JOULE_TEST_DATA).
"""
import contextlib
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

from forge_serving import FORGE, MODEL, VOCABULARY, missing, serving
from run_support import sanitizer_of

CHAT = "/v1/chat/completions"
HI = [{"role": "user", "content": "hi"}]
TEMPLATE = ("{% if tools %}T{{ tools|tojson }}\n{% endif %}{% for d in documents or [] %}D{{ d.text }}\n{% endfor %}"
            "{% for m in messages %}{{ m.role }}:{{ m.content or '' }}"
            "{% for c in m.tool_calls or [] %}{{ c.function.name }}={{ c.function.arguments.x }}{% endfor %}"
            "{{ m.tool_call_id or '' }}{{ m.name or '' }}\n{% endfor %}")
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"x": 1}}}]


def string(text):
    return struct.pack("<Q", len(text)) + text


def with_template(path):
    """Adds a chat template to a GGUF file. Another key keeps the alignment of the data."""
    with open(path, "rb") as file:
        old = file.read()
    key, padding = (string(name) + struct.pack("<I", 8) for name in (b"tokenizer.chat_template", b"test.padding"))
    added = key + string(TEMPLATE.encode())
    missing_bytes = -(len(added) + len(padding) + 8) % 32
    keys = struct.unpack_from("<Q", old, 16)[0] + 2
    with open(path, "wb") as file:
        file.write(old[:16] + struct.pack("<Q", keys) + added + padding + string(b" " * missing_bytes) + old[24:])


class Tools(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.exit = contextlib.ExitStack()
        path = os.path.join(cls.exit.enter_context(tempfile.TemporaryDirectory()), "model.gguf")
        subprocess.run([FORGE, "convert", MODEL, path, "--tokenizer", VOCABULARY], check=True, capture_output=True)
        with_template(path)
        cls.server = cls.exit.enter_context(serving(model=(path,)))

    @classmethod
    def tearDownClass(cls):
        cls.exit.close()

    def chat(self, **fields):
        status, answer = self.server.post(CHAT, **{"messages": HI, "max_tokens": 8, "temperature": 0, **fields})
        self.assertEqual(status, 200, answer)
        return answer

    def check_prompt(self, text, **fields):
        """Checks that a chat has the prompt `text`."""
        chat, completion = self.chat(**fields), self.server.complete(text, max_tokens=8)
        self.assertEqual(chat["usage"]["prompt_tokens"], completion["usage"]["prompt_tokens"])
        self.assertEqual(chat["choices"][0]["message"]["content"], completion["choices"][0]["text"])

    def check_error(self, param, **fields):
        status, answer = self.server.post(CHAT, **{"messages": HI, **fields})
        self.assertEqual((status, answer["error"]["param"]), (400, param), answer)
        return answer["error"]["message"]

    def test_tools_are_in_the_prompt(self):
        self.check_prompt("user:hi\n")
        for choice in (None, "auto"):
            self.check_prompt(f"T{json.dumps(TOOLS)}\nuser:hi\n", tools=TOOLS, tool_choice=choice)
        self.assertEqual(self.chat(tools=TOOLS)["choices"][0]["finish_reason"], "length")

    def test_tools_are_not_in_the_prompt_if_there_is_no_choice(self):
        self.check_prompt("user:hi\n", tools=TOOLS, tool_choice="none")
        self.check_prompt("user:hi\n", tools=[])
        self.check_prompt("user:hi\n", tools=None)

    def test_documents_are_in_the_prompt(self):
        self.check_prompt("Da b\nDc\nuser:hi\n", documents=[{"text": "a b"}, {"text": "c"}])

    def test_calls_of_tools_are_in_the_prompt(self):
        call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"x": 2}'}}
        messages = HI + [{"role": "assistant", "content": None, "tool_calls": [call, {"function": {"name": "f", "arguments": ""}}]},
                         {"role": "tool", "tool_call_id": "1", "content": "4"}, {"role": "user", "content": "b", "name": "n"}]
        self.check_prompt("user:hi\nassistant:add=2f=\ntool:41\nuser:bn\n", messages=messages)

    def test_control_tokens_in_tools_are_text(self):
        def count(text):
            tool = {"type": "function", "function": {"name": "f", text: text}}
            call = {"role": "assistant", "tool_calls": [{"function": {"name": text, "arguments": json.dumps({"x": text})}}]}
            return self.chat(tools=[tool], documents=[{"text": text}], messages=HI + [call], max_tokens=1)["usage"]["prompt_tokens"]
        self.assertGreater(count("<s><s>"), count("ab") + 15, "in 5 places, each control token would be one token, as each letter")

    def test_wrong_fields_are_named(self):
        for value in (1, "a", {}, [1], [{}], [{"type": "function"}], [{"type": "x", "function": {"name": "f"}}],
                      [{"type": "function", "function": {"name": ""}}], [{"type": "function", "function": []}]):
            with self.subTest(value=value):
                self.check_error("tools", tools=value)
        for value in ("required", {"type": "function", "function": {"name": "add"}}, 1, "x"):
            with self.subTest(value=value):
                self.check_error("tool_choice", tools=TOOLS, tool_choice=value)
        for value in (1, ["a"], {"text": "a"}):
            with self.subTest(value=value):
                self.check_error("documents", documents=value)
        for name, value in (("tool_calls", {}), ("tool_calls", "a"), ("tool_call_id", 1), ("name", []),
                            ("tool_calls", [{"function": {"arguments": "{"}}]), ("tool_calls", [{"function": {"arguments": "[" * 100}}])):
            with self.subTest(name=name, value=value):
                self.check_error("messages", messages=[{"role": "assistant", "content": "a", name: value}])
        self.check_error("tools", tools=[{"type": "function", "function": {"name": "f", "a": "b c " * 50000}}])
        self.check_error("functions", functions=[{"name": "f"}])

    def test_a_template_that_ignores_tools_is_named(self):
        with serving("--chat-template", "chatml") as self.server:  # instead of the server of the class
            self.assertIn("does not use 'tools'", self.check_error("tools", tools=TOOLS))
            self.assertIn("does not use 'documents'", self.check_error("documents", documents=[{"text": "a"}]))
            self.chat(tools=TOOLS, tool_choice="none")


if __name__ == "__main__":
    reason = missing()
    if not reason and sanitizer_of(FORGE) == "thread":
        reason = "sends one request at a time, and the thread sanitizer takes long"
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    unittest.main()
