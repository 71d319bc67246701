#!/usr/bin/env python3
"""Checks `forge serve` with the official Python client of OpenAI. Skipped if the package `openai` is absent."""
import sys
import unittest

from forge_serving import missing, serving

try:
    import openai
except ImportError:
    print("skipped: there is no Python package openai")
    sys.exit(77)

HI = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]


class Client(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.context = serving("--chat-template", "chatml", "--api-key", "secret", "--alias", "tiny")
        cls.server = cls.context.__enter__()
        cls.client = cls.connect("secret")

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.context.__exit__(None, None, None)

    @classmethod
    def connect(cls, key):
        return openai.OpenAI(base_url=f"http://{cls.server.address}/v1", api_key=key, max_retries=0)

    def test_models(self):
        self.assertEqual([model.id for model in self.client.models.list()], ["tiny"])
        self.assertEqual(self.client.models.retrieve("tiny").object, "model")

    def test_completions(self):
        ask = {"model": "tiny", "prompt": "Once upon", "max_tokens": 20, "temperature": 0}
        answer = self.client.completions.create(**ask, logprobs=2)
        self.assertTrue(answer.choices[0].text.startswith(" a time"))
        self.assertEqual((answer.choices[0].finish_reason, answer.usage.completion_tokens), ("length", 20))
        self.assertEqual("".join(answer.choices[0].logprobs.tokens), answer.choices[0].text)
        self.assertIn("joules", answer.energy)
        parts = list(self.client.completions.create(**ask, stream=True, stream_options={"include_usage": True}))
        self.assertEqual("".join(part.choices[0].text for part in parts if part.choices), answer.choices[0].text)
        self.assertEqual(parts[-1].usage.total_tokens, 23)

    def test_chats(self):
        ask = {"model": "tiny", "messages": HI, "max_completion_tokens": 20, "temperature": 0}
        answer = self.client.chat.completions.create(**ask, logprobs=True, top_logprobs=3, n=2)
        self.assertEqual([choice.message.role for choice in answer.choices], ["assistant"] * 2)
        self.assertEqual(len(answer.choices[0].logprobs.content), 20)
        self.assertEqual(len(answer.choices[0].logprobs.content[0].top_logprobs), 3)
        text = ""
        for part in self.client.chat.completions.create(**ask, stream=True):
            text += part.choices[0].delta.content or ""
        self.assertEqual(text, answer.choices[0].message.content)
        stop = text[4:7]  # the helper below refuses answers that the limit of tokens ended
        with self.client.chat.completions.stream(**ask, stop=stop) as stream:
            for _ in stream:
                pass
            self.assertEqual(stream.get_final_completion().choices[0].message.content, text[:text.find(stop)])

    def test_errors(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.completions.create(model="tiny", prompt="a", temperature=-1)
        self.assertEqual((caught.exception.param, caught.exception.type), ("temperature", "invalid_request_error"))
        with self.assertRaises(openai.NotFoundError) as caught:
            self.client.completions.create(model="other", prompt="a")
        self.assertEqual(caught.exception.code, "model_not_found")
        with self.connect("wrong") as wrong, self.assertRaises(openai.AuthenticationError) as caught:
            wrong.models.list()
        self.assertEqual(caught.exception.code, "invalid_api_key")

    def test_a_stream_can_be_left(self):
        for _ in range(5):
            with self.client.completions.create(model="tiny", prompt="a", max_tokens=400, n=10, stream=True) as stream:
                next(iter(stream))
        self.server.wait_for(lambda: self.running() == 0, "the end of the streams")

    def running(self):
        text = self.server.get("/metrics", Authorization="Bearer secret")[2]
        return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith("vllm:num_requests_"))


if __name__ == "__main__":
    reason = missing()
    if reason:
        print("skipped:", reason)
        sys.exit(77)
    unittest.main()
