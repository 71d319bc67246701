#!/usr/bin/env python3
"""Checks that all kinds of responses of `forge serve` satisfy docs/forge-serve.schema.json.

JOULE_OPENAPI can name OpenAI's description of its API: the file openapi.json of github.com/openai/openai-openapi. The
responses then satisfy this description, too. It differs from OpenAI's service, which sends null in three places: as the
finish_reason and the usage of events of completions, and as the probability of the first token of an echo.
"""
import contextlib
import json
import os
import sys
import unittest

from forge_serving import missing, serving
from schema_check import validator_class, validator

COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"
HI = [{"role": "user", "content": "hi"}]
DOCUMENT = os.environ.get("JOULE_OPENAPI")
OFFICIAL = {"completion": "CreateCompletionResponse", "completion_event": "CreateCompletionResponse", "chat": "CreateChatCompletionResponse",
            "chat_event": "CreateChatCompletionStreamResponse", "models": "ListModelsResponse", "model": "Model", "error": "ErrorResponse"}
SCHEMA = {"type": "json_schema", "json_schema": {"name": "a", "schema": {"enum": ["Lily", "Tom"]}}}
# Fields of requests that change the form of a response.
FORMS = ({}, {"n": 3}, {"max_tokens": 0}, {"stop": ["e", "time"]}, {"stop": "there was"}, {"response_format": SCHEMA}, {"max_joules": 1e6})
COMPLETION_FORMS = (*({"prompt": "Once upon", **form} for form in FORMS), {"prompt": ["a", "b"], "n": 2}, {"prompt": [[1, 403], [1]]}, {"logprobs": 0}, {"logprobs": 5, "n": 2},
                    {"logprobs": 2, "echo": True}, {"logprobs": 2, "echo": True, "max_tokens": 0}, {"logprobs": 20, "temperature": 2, "max_tokens": 200, "ignore_eos": True})
CHAT_FORMS = (*FORMS, {"logprobs": True}, {"logprobs": True, "top_logprobs": 5, "n": 2}, {"logprobs": True, "stop": "e"},
              {"logprobs": True, "top_logprobs": 20, "temperature": 2, "max_tokens": 200, "ignore_eos": True})
STREAMS = ({}, {"include_usage": True}, {"continuous_usage_stats": True}, {"include_usage": True, "continuous_usage_stats": True})


def with_nulls(schema):
    """Returns a schema of OpenAPI in which `nullable` is replaced by an alternative."""
    if isinstance(schema, list):
        return [with_nulls(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    rest = {key: with_nulls(value) for key, value in schema.items() if key != "nullable"}
    return {"anyOf": [rest, {"type": "null"}]} if schema.get("nullable") is True else rest


def official_validators():
    """Returns the validators of OpenAI's description by the names of OFFICIAL."""
    if not DOCUMENT:
        return {}
    with open(DOCUMENT, encoding="utf-8") as file:
        components = with_nulls({"schemas": json.load(file)["components"]["schemas"]})
    completion = components["schemas"]["CreateCompletionResponse"]["properties"]
    choice = completion["choices"]["items"]["properties"]
    logprobs = choice["logprobs"]["anyOf"][0]["properties"]
    for members, name in ((completion, "usage"), (choice, "finish_reason"), (logprobs["token_logprobs"], "items"), (logprobs["top_logprobs"], "items")):
        members[name] = {"anyOf": [members[name], {"type": "null"}]}
    return {name: validator_class()({"$ref": f"#/components/schemas/{schema}", "components": components}) for name, schema in OFFICIAL.items()}


class Responses(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = validator("forge-serve")
        cls.official = official_validators()
        cls.exit = contextlib.ExitStack()
        cls.server = cls.exit.enter_context(serving("--chat-template", "chatml"))

    @classmethod
    def tearDownClass(cls):
        cls.exit.close()

    def faults_of(self, name, response):
        schema = {"$ref": f"#/$defs/{name}", "$defs": self.schema.schema["$defs"]}
        return [error.message for error in self.schema.evolve(schema=schema).iter_errors(response)]

    def check(self, name, response):
        """Checks a response against the schema of its kind, which is the only one that it satisfies. Note: an event of a
        completion may have all members of a completion."""
        for other in OFFICIAL:
            if other == name:
                self.assertEqual(self.faults_of(name, response), [], response)
            elif not (other.startswith("completion") and name.startswith("completion")):
                self.assertNotEqual(self.faults_of(other, response), [], (other, response))
        if name in self.official:
            faults = [f"{list(error.absolute_path)}: {error.message}" for error in self.official[name].iter_errors(response)]
            self.assertEqual(faults, [], response)

    def check_forms(self, path, name, forms, base):
        for form in forms:
            ask = {**base, "max_tokens": 12, "temperature": 0, **form}
            with self.subTest(path=path, form=form):
                status, answer = self.server.post(path, **ask)
                self.assertEqual(status, 200, answer)
                self.check(name, answer)
                for options in STREAMS:
                    chunks = self.server.stream(path, **ask, stream_options=options)
                    for chunk in chunks:
                        self.check(name + "_event", chunk)

    def test_completions(self):
        self.check_forms(COMPLETIONS, "completion", COMPLETION_FORMS, {"prompt": ""})

    def test_chats(self):
        self.check_forms(CHAT, "chat", CHAT_FORMS, {"messages": HI})

    def test_models(self):
        self.check("models", json.loads(self.server.get("/v1/models")[2]))
        self.check("model", json.loads(self.server.get("/v1/models/stories260K")[2]))

    def test_texts_and_tokens(self):
        for path, fields in (("/tokenize", {"prompt": "Once"}), ("/detokenize", {"tokens": [403]})):
            self.assertEqual([error.message for error in self.schema.iter_errors(self.server.post(path, **fields)[1])], [])

    def test_errors(self):
        for method, path, body, headers in (("POST", COMPLETIONS, {"prompt": 1}, {}), ("POST", CHAT, {"messages": 1}, {}), ("POST", COMPLETIONS, b"{", {}), ("GET", "/v2", None, {}),
                                            ("GET", CHAT, None, {}), ("POST", COMPLETIONS, {"prompt": "a", "model": "x"}, {}), ("POST", COMPLETIONS, b" " * (5 << 20), {}),
                                            ("POST", COMPLETIONS, {"prompt": [1] * 600}, {}), ("GET", "/health", None, {"Host": "evil.example"})):
            with self.subTest(path=path, body=str(body)[:80]):
                status, _, text = self.server.request(method, path, body, **headers)
                self.assertGreaterEqual(status, 400)
                self.check("error", json.loads(text))


if __name__ == "__main__":
    reason = missing()
    if reason:
        print("skipped:", reason)
        sys.exit(77)
    if not DOCUMENT:
        print("skipped: OpenAI's description of its API: JOULE_OPENAPI does not name it")
    unittest.main()
