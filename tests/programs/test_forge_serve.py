#!/usr/bin/env python3
"""Checks `forge serve` as a program: answers, streams, errors, limits, and its end.

The model is stories260K, whose texts llama2.c defines. All checks are skipped if it is absent (JOULE_TEST_DATA).
"""
import concurrent.futures
import contextlib
import json
import math
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

import browser
from forge_serving import FORGE, MODEL, VOCABULARY, Server, data_of, events, missing, reference_runs, serving
from run_support import sanitizer_of

COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"
HI = [{"role": "user", "content": "hi"}]
IS_SLOW = sanitizer_of(FORGE) == "thread"  # about 20 times slower
# Many long answers, one after the other: the server is busy for some time.
BUSY = {"prompt": [[1]] * 60, "max_tokens": 50 if IS_SLOW else 500, "ignore_eos": True, "temperature": 1}
# The checks of answers that the thread sanitizer repeats: they send several requests at the same time, or use metrics.
SIMULTANEOUS = ("test_simultaneous_clients_get_the_same_answers", "test_a_stream_equals_the_answer", "test_energy_is_known_or_null",
                "test_answers_have_the_form_of_a_schema", "test_metrics_have_the_names_of_vllm")
ONE_BY_ONE = ("--max-batch-size", "1", "--max-batch-tokens", "1")


def text_of(chunks, index=0):
    """Returns the text of a choice in the events of a stream."""
    choices = [choice for chunk in chunks for choice in chunk["choices"] if choice["index"] == index]
    return "".join(choice["text"] if "text" in choice else choice["delta"].get("content", "") for choice in choices)


class Answers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.exit = contextlib.ExitStack()
        cls.server = cls.exit.enter_context(serving("--chat-template", "chatml"))

    @classmethod
    def tearDownClass(cls):
        cls.exit.close()

    def setUp(self):
        if IS_SLOW and self._testMethodName not in SIMULTANEOUS:
            self.skipTest("sends one request at a time, and the thread sanitizer takes long")

    def greedy(self, prompt="", **fields):
        return self.server.complete(prompt, **fields)["choices"][0]

    def test_greedy_text_equals_that_of_llama2c(self):
        expected = data_of("expected_greedy_256.txt")
        choice = self.greedy(max_tokens=500)
        self.assertTrue(choice["text"].startswith(data_of("expected_greedy_200.txt")))
        self.assertTrue(choice["text"].startswith(expected.rstrip("\n")[:500]))

    def test_answers_continue_reference_prompts(self):
        for prompt, tokens, greedy, _ in reference_runs():
            with self.subTest(prompt=prompt):
                status, detokenized = self.server.post("/detokenize", tokens=tokens + greedy)
                self.assertEqual(status, 200)
                text = self.greedy(prompt, max_tokens=len(greedy))["text"]
                self.assertEqual("".join((prompt, text)).strip(), detokenized["prompt"].removeprefix("<s>").strip())
                self.assertEqual(self.greedy(tokens, max_tokens=len(greedy))["text"], text)

    def test_a_stream_equals_the_answer(self):
        for fields in ({"max_tokens": 80}, {"max_tokens": 60, "temperature": 1, "seed": 7, "n": 3},
                       {"prompt": ["Once", "The dog"], "max_tokens": 20, "n": 2, "seed": 3, "temperature": 0.8, "echo": True}):
            with self.subTest(fields=fields):
                whole = self.server.complete(**fields)
                chunks = self.server.stream(COMPLETIONS, **{"prompt": "", "temperature": 0, **fields, "stream_options": {"include_usage": True}})
                for choice in whole["choices"]:
                    self.assertEqual(text_of(chunks, choice["index"]), choice["text"])
                self.assertEqual((chunks[-1]["choices"], chunks[-1]["usage"]["completion_tokens"]), ([], whole["usage"]["completion_tokens"]))
                self.assertTrue(all(chunk["usage"] is None for chunk in chunks[:-1]))
                self.assertEqual([("energy" in chunk) for chunk in chunks], [False] * (len(chunks) - 1) + [True])
                self.assertEqual(len({chunk["id"] for chunk in chunks}), 1)

    def test_streams_end_with_a_reason_and_the_energy(self):
        chunks = self.server.stream(COMPLETIONS, prompt="", temperature=0, max_tokens=5, stream_options={"continuous_usage_stats": True})
        self.assertEqual([chunk["choices"][0]["finish_reason"] for chunk in chunks], [None] * (len(chunks) - 1) + ["length"])
        self.assertIn("joules", chunks[-1]["energy"])
        counts = [chunk["usage"]["completion_tokens"] for chunk in chunks]
        self.assertEqual((counts, counts[-1]), (sorted(counts), 5))

    def test_usage_counts_tokens(self):
        answer = self.server.complete("Once upon", max_tokens=7, n=2)
        self.assertEqual({key: answer["usage"][key] for key in ("prompt_tokens", "completion_tokens", "total_tokens")},
                         {"prompt_tokens": 3, "completion_tokens": 14, "total_tokens": 17})
        self.assertEqual(len(self.greedy()["text"]), len(self.greedy(max_tokens=16)["text"]), "the default is 16 tokens")
        long = "Once upon a time, there was a little girl named Lily. She loved to play outside in the park."
        self.server.complete(long, cache_salt="a")
        self.assertGreater(self.server.complete(long, cache_salt="a")["usage"]["prompt_tokens_details"]["cached_tokens"], 0)
        self.assertEqual(self.server.complete(long, cache_salt="b")["usage"]["prompt_tokens_details"]["cached_tokens"], 0)

    def test_stop_strings_end_the_answer_and_are_not_part_of_it(self):
        whole = self.greedy(max_tokens=100)["text"]
        for stops in (" there was", ["zzz", "Lily"], ["Lily. She", "She loved"], ["e", "time"], ["park. One day, she sow", "red"]):
            with self.subTest(stops=stops):
                ends = [whole.find(stop) for stop in ([stops] if isinstance(stops, str) else stops) if stop in whole]
                choice = self.greedy(max_tokens=100, stop=stops)
                self.assertEqual((choice["text"], choice["finish_reason"]), (whole[:min(ends)], "stop"))
                self.assertIn(choice["stop_reason"], stops)
                chunks = self.server.stream(COMPLETIONS, prompt="", temperature=0, max_tokens=100, stop=stops)
                self.assertEqual(text_of(chunks), whole[:min(ends)])
        text = self.greedy(max_tokens=20, stop="no such text, but it begins like: Once upon a time, there wax")["text"]
        self.assertEqual(text, whole[:len(text)], "text that was held back is sent at the end")
        self.assertEqual(self.greedy(max_tokens=100, stop=["Once"], min_tokens=100)["text"], whole)

    def test_stop_tokens_end_the_answer(self):
        _, detokenized = self.server.post("/tokenize", prompt="Once upon a", add_special_tokens=False)
        choice = self.greedy(max_tokens=30, stop_token_ids=detokenized["tokens"][-1:])
        self.assertEqual((choice["text"], choice["finish_reason"]), ("Once upon", "stop"))

    def test_seeds_determine_answers(self):
        ask = {"max_tokens": 30, "temperature": 1, "n": 4}
        first, again, other = (self.server.complete(**ask, seed=seed)["choices"] for seed in (1, 1, 2))
        self.assertEqual([choice["index"] for choice in first], [0, 1, 2, 3])
        texts = [choice["text"] for choice in first]
        self.assertEqual(texts, [choice["text"] for choice in again])
        self.assertNotEqual(texts, [choice["text"] for choice in other])
        self.assertGreater(len(set(texts)), 1)

    def test_sampling_fields_have_an_effect(self):
        plain = self.greedy(max_tokens=60)["text"]
        _, tokens = self.server.post("/tokenize", prompt="Once", add_special_tokens=False)
        self.assertFalse(self.greedy(max_tokens=60, logit_bias={str(tokens["tokens"][0]): -100})["text"].startswith("Once"))
        for fields in ({"repetition_penalty": 2}, {"repeat_penalty": 2}, {"presence_penalty": 2}, {"frequency_penalty": 2}):
            self.assertNotEqual(self.greedy(max_tokens=60, **fields)["text"], plain, fields)
        for fields in ({"top_k": 1}, {"top_p": 1e-6}, {"min_p": 1}):
            self.assertEqual(self.greedy(max_tokens=60, temperature=1, **fields)["text"], plain, fields)

    def test_logprobs_of_a_prompt_equal_those_of_llama2c(self):
        for prompt, tokens, _, nats in reference_runs():
            if len(tokens) < 2:
                continue
            with self.subTest(prompt=prompt):
                answer = self.server.complete(prompt, max_tokens=0, echo=True, logprobs=1)
                choice = answer["choices"][0]
                self.assertEqual((choice["text"], answer["usage"]["completion_tokens"]), (prompt, 0))
                logprobs = choice["logprobs"]["token_logprobs"]
                self.assertEqual((len(logprobs), logprobs[0]), (len(tokens), None))
                self.assertAlmostEqual(-sum(logprobs[1:]), nats, delta=1e-3)

    def test_logprobs_describe_the_tokens(self):
        choice = self.greedy("Once upon", max_tokens=10, logprobs=3)
        logprobs = choice["logprobs"]
        self.assertEqual("".join(logprobs["tokens"]), choice["text"])
        for offset, token, logprob, top in zip(*(logprobs[key] for key in ("text_offset", "tokens", "token_logprobs", "top_logprobs"))):
            self.assertEqual(choice["text"][offset:offset + len(token)], token)
            self.assertEqual((len(top), max(top.values()), top[token]), (3, logprob, logprob))
        chunks = self.server.stream(COMPLETIONS, prompt="Once upon", temperature=0, max_tokens=10, logprobs=3)
        parts = [chunk["choices"][0]["logprobs"] for chunk in chunks]
        for key, values in logprobs.items():
            self.assertEqual([value for part in parts for value in part[key]], values)

    def test_answers_have_the_form_of_a_schema(self):
        schema = {"type": "object", "properties": {"name": {"enum": ["Lily", "Tom \\"]}, "age": {"type": "integer"}}, "required": ["name", "age"]}
        for seed in range(10):
            for stream in (False, True):
                ask = {"prompt": "", "temperature": 1, "seed": seed, "max_tokens": 300,
                       "response_format": {"type": "json_schema", "json_schema": {"name": "person", "strict": True, "schema": schema}}}
                choice = self.server.complete(**ask)["choices"][0]
                text = text_of(self.server.stream(COMPLETIONS, **ask)) if stream else choice["text"]
                if choice["finish_reason"] == "stop":
                    person = json.loads(text)
                    self.assertEqual((sorted(person), person["name"] in ("Lily", "Tom \\"), type(person["age"])), (["age", "name"], True, int))
        status, answer = self.server.post(CHAT, messages=HI, seed=1, max_tokens=400, response_format={"type": "json_object"})
        self.assertEqual((status, answer["choices"][0]["message"]["content"].lstrip()[:1]), (200, "{"))

    def test_chats_are_answered(self):
        ask = {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": [{"type": "text", "text": "h"}, {"type": "text", "text": "i"}]}],
               "temperature": 0, "max_completion_tokens": 12, "logprobs": True, "top_logprobs": 2}
        status, answer = self.server.post(CHAT, **ask)
        self.assertEqual((status, answer["object"]), (200, "chat.completion"))
        choice = answer["choices"][0]
        self.assertEqual((choice["message"]["role"], choice["finish_reason"]), ("assistant", "length"))
        content = choice["logprobs"]["content"]
        self.assertEqual("".join(item["token"] for item in content).strip(), choice["message"]["content"].strip())
        self.assertTrue(all(bytes(item["bytes"]).decode() == item["token"] and len(item["top_logprobs"]) == 2 for item in content))
        chunks = self.server.stream(CHAT, **ask)
        self.assertEqual({chunk["object"] for chunk in chunks}, {"chat.completion.chunk"})
        self.assertEqual(chunks[0]["choices"][0]["delta"], {"role": "assistant", "content": ""})
        self.assertEqual((chunks[-1]["choices"][0]["delta"], chunks[-1]["choices"][0]["finish_reason"]), ({}, "length"))
        self.assertEqual(text_of(chunks), choice["message"]["content"])

    def test_texts_become_tokens_and_return(self):
        for text in ("Once upon a time", "", "Ω ≠ ß\n\n", "x" * 300):
            status, tokens = self.server.post("/tokenize", prompt=text)
            self.assertEqual((status, tokens["count"]), (200, len(tokens["tokens"])))
            status, back = self.server.post("/detokenize", tokens=tokens["tokens"])
            self.assertEqual(back["prompt"].removeprefix("<s>").removeprefix(" "), text)
        self.assertEqual(len(self.server.post("/tokenize", content="a")[1]["tokens"]) + 1,
                         len(self.server.post("/tokenize", content="a", add_special=True)[1]["tokens"]))

    def test_models_are_listed(self):
        _, _, text = self.server.get("/v1/models")
        models = json.loads(text)
        self.assertEqual((models["object"], [model["id"] for model in models["data"]]), ("list", ["stories260K"]))
        self.assertEqual(json.loads(self.server.get("/v1/models/stories260K")[2])["object"], "model")
        self.assertEqual(self.server.get("/v1/models/other")[0], 404)

    def test_simultaneous_clients_get_the_same_answers(self):
        prompts = [prompt for prompt, *_ in reference_runs()]
        alone = {prompt: self.greedy(prompt, max_tokens=120)["text"] for prompt in prompts}

        def ask(i):
            prompt = prompts[i % len(prompts)]
            if i % 2:
                return prompt, self.greedy(prompt, max_tokens=120)["text"]
            return prompt, text_of(self.server.stream(COMPLETIONS, prompt=prompt, temperature=0, max_tokens=120))

        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            for prompt, text in pool.map(ask, range(64)):
                self.assertEqual(text, alone[prompt])

    def test_one_connection_serves_several_requests(self):
        with contextlib.closing(self.server.connection()) as connection:
            for path, body in ((COMPLETIONS, {"prompt": "a", "stream": True}), (COMPLETIONS, {"prompt": "a"}), (COMPLETIONS, {"prompt": 1}),
                               (CHAT, {"messages": HI, "max_tokens": 3})):
                connection.request("POST", path, json.dumps(body))
                response = connection.getresponse()
                response.read()
                self.assertEqual(response.status, 400 if body.get("prompt") == 1 else 200)

    def check_error(self, status, answer, param, code=None):
        self.assertEqual(sorted(answer), ["error"])
        self.assertEqual(sorted(answer["error"]), ["code", "message", "param", "type"])
        self.assertEqual((status, answer["error"]["param"]), (400, param), answer)
        self.assertTrue(answer["error"]["message"])
        if code:
            self.assertEqual(answer["error"]["code"], code)

    def test_wrong_fields_are_named(self):
        wrong = {
            "temperature": [-1, 101, "hot", True, [1]], "top_p": [0, 1.5, "a"], "top_k": [-2, 1.5, "a"], "min_p": [-0.1, 2], "n": [0, -1, 129, 1.5, "2"],
            "max_tokens": [-1, 1e300, "x", 0.5], "repetition_penalty": [0, 1000], "presence_penalty": [3], "frequency_penalty": [-3],
            "seed": ["a", 1.5, 1e30], "stop": [1, ["a"] * 5, [1], ["a" * 2000], [""], {}], "stop_token_ids": [1, [-1], ["a"], [512], [1] * 200],
            "min_tokens": [-1], "ignore_eos": [1, "yes"], "logprobs": [-1, 21, "x"], "echo": [1], "stream": ["yes"],
            "stream_options": [1, {"include_usage": True}], "cache_salt": [1], "priority": ["high"], "max_joules": [0, -1, "5J"],
            "logit_bias": [[], {"a": 1}, {"512": 1}, {"1": 200}, {"1": "x"}], "response_format": [1, {"type": "json_schema"}, {"type": "x"}, {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "cow"}}}],
            "best_of": [2], "suffix": ["x"], "prompt": [1, {}, [], [[]], [1, "a"], ["a", 1], [512], [-1], [1.5], [[1], [99999]], None],
        }
        for name, values in wrong.items():
            for value in values:
                with self.subTest(name=name, value=value):
                    self.check_error(*self.server.post(COMPLETIONS, **{"prompt": "a", name: value}), name)
        for name, values in {"messages": [1, [], [1], [{}], [{"role": 1}], [{"role": "user"}], [{"role": "user", "content": 1}],
                                          [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}], None],
                             "tools": [[{"type": "function"}]], "top_logprobs": [5, 50], "logprobs": [5], "max_completion_tokens": [-1]}.items():
            for value in values:
                with self.subTest(name=name, value=value):
                    self.check_error(*self.server.post(CHAT, **{"messages": HI, name: value}), name)
        self.check_error(*self.server.post("/tokenize"), "prompt")
        self.check_error(*self.server.post("/detokenize", tokens=["a"]), "tokens")

    def test_unknown_fields_and_nulls_are_ignored(self):
        self.assertEqual(self.greedy(max_tokens=5, user="me", unknown={"a": [1]}, stop=None, logprobs=None, n=None, stream=None)["text"], self.greedy(max_tokens=5)["text"])

    def test_too_long_prompts_are_refused(self):
        code = "context_length_exceeded"
        self.check_error(*self.server.post(COMPLETIONS, prompt=[1] * 512), "prompt", code)
        self.check_error(*self.server.post(COMPLETIONS, prompt="a b c " * 10000), "prompt", code)
        self.check_error(*self.server.post(CHAT, messages=[{"role": "user", "content": "a b c " * 1000}]), "messages", code)
        answer = self.server.complete([1] * 511, max_tokens=100)
        self.assertEqual((answer["usage"]["completion_tokens"], answer["choices"][0]["finish_reason"]), (1, "length"))

    def test_other_errors_have_the_same_form(self):
        for method, path, body, status, code in (("POST", COMPLETIONS, {"prompt": "a", "model": "gpt"}, 404, "model_not_found"), ("GET", "/v2", None, 404, "not_found"),
                                                 ("GET", COMPLETIONS, None, 405, "method_not_allowed"), ("DELETE", "/health", None, 405, "method_not_allowed"),
                                                 ("POST", COMPLETIONS, b"{", 400, None), ("POST", CHAT, b"[]", 400, None), ("POST", COMPLETIONS, b"", 400, None)):
            with self.subTest(path=path, body=body):
                got, headers, text = self.server.request(method, path, body)
                error = json.loads(text)["error"]
                self.assertEqual((got, sorted(error), error["code"]), (status, ["code", "message", "param", "type"], code))
                self.assertEqual("Allow" in headers, status == 405)

    def test_hostile_bodies_do_no_harm(self):
        generator = random.Random(1)
        good = json.dumps({"prompt": "a", "stop": ["x"], "logit_bias": {"1": 2}, "stream_options": {}}).encode()
        bodies = [b"[" * 100000, b'{"prompt":' * 1000, b'{"prompt":"\\u0000"}', b'{"prompt":"\xff\xfe"}', b'{"prompt":"\\ud800"}', b"\0" * 1000,
                  b'{"prompt":1e999}', b'{"prompt":"a","prompt":"b"}', b'{"prompt":"a","max_tokens":1e400}', b'{"prompt":[' + b"1," * 200000 + b"1]}",
                  b'{"prompt":[' + b'"a",' * 100000 + b'"a"]}', json.dumps({"prompt": "<" * 1000000}).encode(), json.dumps({"prompt": "a", "logit_bias": {str(i): 1 for i in range(5000)}}).encode(),
                  json.dumps({str(i): i for i in range(50000)}).encode()]
        for _ in range(200):
            body = bytearray(good)
            for _ in range(generator.randint(1, 4)):
                body[generator.randrange(len(body))] = generator.randrange(256)
            bodies.append(bytes(body[:generator.randint(1, len(body))]))
        for body in bodies:
            for path in (COMPLETIONS, CHAT, "/tokenize", "/detokenize"):
                status, _, text = self.server.request("POST", path, body)
                self.assertIn(status, (200, 400, 404), (path, body[:100], text))
                self.assertTrue(status == 200 or sorted(json.loads(text)["error"]) == ["code", "message", "param", "type"])
        self.assertEqual(self.greedy(max_tokens=5)["text"], self.greedy(max_tokens=5)["text"])

    def test_control_tokens_of_users_are_text(self):
        def count(text):
            return self.server.post(CHAT, messages=[{"role": "user", "content": text}], max_tokens=1)[1]["usage"]["prompt_tokens"]
        self.assertGreater(count("<s><s><s><s>"), count("aaaa") + 3, "each control token would be one token")

    def test_large_bodies_are_refused(self):
        status, _, text = self.server.request("POST", COMPLETIONS, b" " * (5 << 20))
        self.assertEqual((status, json.loads(text)["error"]["code"]), (413, "body_too_large"))

    def test_energy_is_known_or_null(self):
        keys = ["budget_joules", "class", "decode_joules", "high", "joules", "joules_per_token", "limited_by", "low", "prefill_joules", "source"]
        energy = {"joules": None}
        for _ in range(200):
            answer = self.server.complete(max_tokens=400, ignore_eos=True)
            energy = answer["energy"]
            self.assertEqual(sorted(energy), keys)
            if energy["joules"] is not None:
                break
            self.assertIsNone(energy["class"])
        self.assertGreater(energy["joules"], 0)
        self.assertLessEqual(energy["low"], energy["joules"])
        self.assertLessEqual(energy["joules"], energy["high"])
        self.assertAlmostEqual(energy["joules_per_token"], energy["joules"] / 400, delta=energy["joules"] * 1e-6)
        self.assertAlmostEqual(energy["prefill_joules"] + energy["decode_joules"], energy["joules"], delta=energy["joules"] * 1e-6)
        self.server.wait_for(lambda: self.server.metric("tensorforge:energy_joules_total", phase="decode") > 0, "the joules")
        self.server.wait_for(lambda: self.server.metric("tensorforge:request_energy_joules_count") > 0, "the request's joules")
        limited = self.server.complete(max_tokens=400, ignore_eos=True, max_joules=energy["joules"] / 10)
        self.assertEqual((limited["energy"]["limited_by"], limited["choices"][0]["finish_reason"]), ("max_joules", "length"))
        self.assertLess(limited["usage"]["completion_tokens"], 400)
        self.assertAlmostEqual(limited["energy"]["budget_joules"], energy["joules"] / 10, delta=energy["joules"] * 1e-6)
        # The metrics follow an answer by a step.
        self.server.wait_for(lambda: self.server.metric("tensorforge:energy_limited_requests_total") >= 1, "the limited request")
        self.check_error(*self.server.post(COMPLETIONS, prompt="a", max_joules=1e-12), "max_joules", "energy_budget_too_small")
        status, _, text = self.server.request("POST", COMPLETIONS, {"prompt": "a", "stream": True}, X_Max_Joules="1e-12")
        self.check_error(status, json.loads(text), "max_joules", "energy_budget_too_small")
        status, _, text = self.server.request("POST", COMPLETIONS, {"prompt": "a"}, X_Max_Joules="much")
        self.check_error(status, json.loads(text), "X-Max-Joules")

    def test_metrics_have_the_names_of_vllm(self):
        self.server.complete(max_tokens=3)
        status, headers, text = self.server.get("/metrics")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
        types = dict(re.findall(r"# TYPE (\S+) (\S+)", text))
        for name in ("time_to_first_token_seconds", "inter_token_latency_seconds", "time_per_output_token_seconds", "e2e_request_latency_seconds", "request_queue_time_seconds",
                     "request_inference_time_seconds", "request_prefill_time_seconds", "request_decode_time_seconds", "request_prompt_tokens",
                     "request_generation_tokens", "iteration_tokens_total"):
            self.assertEqual(types["vllm:" + name], "histogram")
            bounds = [float(bound) for bound in re.findall(rf'vllm:{name}_bucket{{.*le="(\S+)"}}', text)]
            counts = [float(count) for count in re.findall(rf"vllm:{name}_bucket{{.*}} (\S+)", text)]
            self.assertEqual((bounds, counts), (sorted(bounds), sorted(counts)))
            self.assertEqual(self.server.metric(f"vllm:{name}_bucket", le="+Inf"), self.server.metric(f"vllm:{name}_count"))
        for name in ("num_requests_running", "num_requests_waiting", "kv_cache_usage_perc"):
            self.assertEqual(types["vllm:" + name], "gauge")
        for name in ("prompt_tokens_total", "generation_tokens_total", "num_preemptions_total", "prefix_cache_queries_total", "prefix_cache_hits_total", "request_success_total"):
            self.assertEqual(types["vllm:" + name], "counter")
        if shutil.which("promtool"):
            done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True, check=False)
            self.assertNotIn(done.returncode, (1,), done.stderr)
        else:
            print("skipped: promtool check metrics: there is no promtool")

    def test_the_page_needs_nothing_else(self):
        for path in ("/", "/page.css", "/page.js"):
            status, headers, text = self.server.get(path)
            self.assertEqual(status, 200)
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
            self.assertIsNone(re.search(r"https?://", text))

    def test_the_page_shows_answers_and_their_joules_in_a_browser(self):
        if not browser.find_browser():
            self.skipTest("there is no chromium")
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, \
                browser.Page(f"http://{self.server.address}/", folder) as page:
            self.assertIn("260,032 weights", page.wait_until("document.getElementById('about').textContent"))
            page.evaluate("document.getElementById('kind').value = 'text'; document.getElementById('temperature').value = 0;"
                          "document.getElementById('tokens').value = 60; document.getElementById('text').value = 'Once upon a time';"
                          "document.getElementById('send').requestSubmit()")
            figures = page.wait_until("document.querySelector('.assistant .figures')?.textContent")
            self.assertRegex(figures, r"^60 tokens .* tokens/s . [0-9.]+ .?J \((measured|derived|modelled)")
            self.assertEqual(page.evaluate("document.querySelector('.assistant .text').textContent"),
                             self.greedy("Once upon a time", max_tokens=60)["text"])

    def test_pages_of_other_sites_are_refused(self):
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}):
            status, _, text = self.server.request("POST", COMPLETIONS, {"prompt": "a"}, **headers)
            self.assertEqual((status, json.loads(text)["error"]["code"]), (403, "foreign_host"))
        self.assertEqual(self.server.request("POST", COMPLETIONS, {"prompt": "a"}, Origin=f"http://{self.server.address}")[0], 200)


def write_model_with_nan(path, token):
    """Writes stories260K with logits of their own weights. The numbers of `token` are NaN, so all logits after it are."""
    with open(MODEL, "rb") as file:
        data = bytearray(file.read())
    dim, _, _, _, _, vocabulary = struct.unpack_from("<6i", data)
    weights = data[28:28 + 4 * dim * vocabulary]
    struct.pack_into("<i", data, 20, -vocabulary)  # a negative number means that the weights of the logits follow
    struct.pack_into(f"<{dim}f", data, 28 + 4 * dim * token, *[math.nan] * dim)
    with open(path, "wb") as file:
        file.write(data + weights)


class NotFinite(unittest.TestCase):
    def test_only_requests_whose_numbers_are_not_finite_fail(self):
        expected = data_of("expected_greedy_200.txt")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "nan.bin")
            write_model_with_nan(path, token=300)
            with serving(model=(path, "--tokenizer", VOCABULARY)) as server, concurrent.futures.ThreadPoolExecutor() as pool:
                bad = [pool.submit(server.post, COMPLETIONS, prompt=[[1, 403, 300]], max_tokens=5) for _ in range(10)]
                good = pool.submit(server.complete, max_tokens=100)
                for request in bad:
                    status, answer = request.result()
                    self.assertEqual((status, answer["error"]["type"]), (500, "server_error"), answer)
                    self.assertIn("not finite", answer["error"]["message"])
                self.assertTrue(expected.startswith(good.result()["choices"][0]["text"]))
                connection, response = server.begin(COMPLETIONS, prompt=[1, 300])
                with contextlib.closing(connection):
                    self.assertIn("not finite", response.read().decode())
                self.assertEqual(server.get("/health")[0], 200)


class Limits(unittest.TestCase):
    def test_a_full_queue_refuses_requests_and_a_leaving_client_frees_it(self):
        with serving(*ONE_BY_ONE, "--max-queue", "59") as server:
            connection, response = server.begin(COMPLETIONS, **BUSY)
            self.assertEqual(response.status, 200)
            status, headers, text = server.request("POST", COMPLETIONS, {"prompt": "a"})
            self.assertEqual((status, headers["Retry-After"], json.loads(text)["error"]["code"]), (429, "1", "queue_full"))
            self.assertEqual(server.metric("tensorforge:requests_refused_total"), 1)
            response.close()
            connection.close()
            server.wait_for(lambda: server.metric("vllm:num_requests_running") + server.metric("vllm:num_requests_waiting") == 0, "the end of all requests")
            self.assertGreater(server.metric("vllm:request_success_total", finished_reason="abort"), 0)
            self.assertEqual(server.metric("vllm:kv_cache_usage_perc"), 0)
            self.assertEqual(server.complete(max_tokens=3)["usage"]["completion_tokens"], 3)
            status, answer = server.post(COMPLETIONS, prompt="a", n=61)
            self.assertEqual((status, answer["error"]["param"]), (400, "n"))

    def test_a_client_that_leaves_before_its_answer_is_cancelled(self):
        with serving(*ONE_BY_ONE) as server:
            connection = server.connection()
            connection.request("POST", COMPLETIONS, json.dumps(BUSY))
            server.wait_for(lambda: server.metric("vllm:num_requests_running") == 1, "the request")
            connection.close()
            server.wait_for(lambda: server.metric("vllm:request_success_total", finished_reason="abort") > 0, "the end of the request")

    def test_keys_are_required(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("# keys\nfile-key\n\nsecond-key\n")
            file.flush()
            with serving("--api-key", "first-key", "--api-key-file", file.name, FORGE_API_KEY="variable-key") as server:
                with open(f"/proc/{server.process.pid}/cmdline", "rb") as line:
                    self.assertNotIn(b"first-key", line.read())
                for key in ("first-key", "file-key", "second-key", "variable-key"):
                    self.assertEqual(server.get("/v1/models", Authorization=f"Bearer {key}")[0], 200)
                for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "first-key"}, {"Authorization": "Bearer "}, {"Authorization": "Basic first-key"}):
                    for method, path in (("POST", COMPLETIONS), ("GET", "/v1/models"), ("GET", "/metrics"), ("GET", "/nowhere")):
                        status, answer, text = server.request(method, path, b'{"prompt":"a"}' if method == "POST" else None, **headers)
                        self.assertEqual((status, json.loads(text)["error"]["code"]), (401, "invalid_api_key"))
                        self.assertIn("Bearer", answer["WWW-Authenticate"])
                self.assertEqual([server.get(path)[0] for path in ("/health", "/v1/health", "/", "/page.js")], [200] * 4)
                self.assertEqual(server.get("/v1/models", Host="any.example", Authorization="Bearer first-key")[0], 200)

    def test_slow_and_many_connections_do_not_block_others(self):
        with serving("--max-connections", "8") as server:
            host, port = server.address.split(":")
            idle = [socket.create_connection((host, int(port))) for _ in range(20)]
            for connection in idle:
                connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Le")
            self.assertEqual(server.complete(max_tokens=2)["usage"]["completion_tokens"], 2)
            for connection in idle:
                connection.close()

    def test_running_answers_finish_after_a_signal(self):
        server = Server(*ONE_BY_ONE, "--grace", "10min")
        connection, response = server.begin(COMPLETIONS, **BUSY)
        server.process.send_signal(signal.SIGTERM)
        server.wait_for(lambda: server.get("/health")[0] == 503, "the end of new requests")
        status, answer = server.post(COMPLETIONS, prompt="a")
        self.assertEqual((status, answer["error"]["code"]), (503, "stopping"))
        chunks = events(response)
        reasons = [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"] if choice["finish_reason"]]
        self.assertEqual(reasons, ["length"] * 60)
        response.close()
        connection.close()
        status, messages = server.end()
        self.assertEqual(status, 0, messages)

    def test_running_answers_are_cancelled_after_the_grace(self):
        server = Server(*ONE_BY_ONE, "--grace", "1ms")
        connection, response = server.begin(COMPLETIONS, **BUSY)
        other = server.connection()
        other.request("POST", COMPLETIONS, json.dumps({"prompt": "a", "max_tokens": 400}))
        server.wait_for(lambda: server.metric("vllm:num_requests_waiting") >= 60, "both requests")
        server.process.send_signal(signal.SIGINT)
        self.assertEqual(events(response)[-1]["error"]["code"], "stopping")
        answer = other.getresponse()
        self.assertEqual((answer.status, json.loads(answer.read())["error"]["code"]), (503, "stopping"))
        response.close()
        connection.close()
        other.close()
        status, messages = server.end()
        self.assertEqual(status, 0, messages)

    def test_options_of_speed_do_not_change_greedy_answers(self):
        if IS_SLOW:
            self.skipTest("the thread sanitizer takes minutes")
        expected = data_of("expected_greedy_200.txt")
        for options in (("--lookup",), ("--draft-model", MODEL, "--draft-tokens", "3"), ("--objective", "energy"), ("--objective", "latency"),
                        ("--by-priority", "--page-size", "4", "--cache-tokens", "600", "--max-length", "300")):
            with self.subTest(options=options), serving(*options) as server:
                self.assertTrue(server.complete(max_tokens=250)["choices"][0]["text"].startswith(expected))
                drafts = server.metric("vllm:spec_decode_num_draft_tokens_total")
                self.assertEqual(drafts is not None, options[0] in ("--lookup", "--draft-model"))

    def test_clients_that_leave_at_any_time_do_no_harm(self):
        generator = random.Random(2)
        body = json.dumps({**BUSY, "prompt": [[1]] * 4, "stream": True}).encode()
        with serving("--max-queue", "8") as server:
            host, port = server.address.split(":")
            for i in range(30 if IS_SLOW else 150):
                with socket.create_connection((host, int(port))) as client:
                    length = len(body) + (i % 10 == 0)
                    request = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % length + body
                    client.sendall(request[:generator.choice((len(request), generator.randint(1, len(request))))])
                    client.settimeout(generator.choice((0.001, 0.01, 0.03)))
                    with contextlib.suppress(OSError):
                        client.recv(generator.randint(1, 3000))
            server.wait_for(lambda: server.metric("vllm:num_requests_running") + server.metric("vllm:num_requests_waiting") == 0, "the end of all requests")
            self.assertEqual(server.metric("vllm:kv_cache_usage_perc"), 0)
            self.assertEqual(server.complete(max_tokens=3)["usage"]["completion_tokens"], 3)

    def test_wrong_usage_is_explained(self):
        for arguments, status, words in (((), 2, "MODEL is missing"), ((MODEL, "--port", "x"), 2, "--port"), ((MODEL, "--objective", "speed"), 2, "--objective"),
                                         ((MODEL, "--chat-template", "x"), 2, "--chat-template"), ((MODEL, "--cache-tokens", "0"), 2, "--cache-tokens"),
                                         ((MODEL, "--api-key", "a b"), 2, "visible characters"), ((MODEL, "--api-key-file", "/nowhere"), 2, "/nowhere"),
                                         (("/nowhere", "--port", "0"), 125, "/nowhere"), ((MODEL, "--port", "0"), 125, "--tokenizer"),
                                         ((MODEL, "--port", "0", "--host", "no.such.host.invalid"), 125, "cannot listen")):
            with self.subTest(arguments=arguments):
                done = subprocess.run([FORGE, "serve", *arguments], capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(words, done.stderr)
                self.assertTrue(done.stderr.startswith("forge serve: "))


if __name__ == "__main__":
    reason = missing()
    if reason:
        print("skipped:", reason)
        sys.exit(77)
    unittest.main()
