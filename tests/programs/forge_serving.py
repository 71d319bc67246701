"""Support for tests of `forge serve`: starts servers with the model stories260K on free ports, and sends requests."""
import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import time

FORGE = os.environ.get("FORGE", "build/release/tools/forge/forge")
SOURCE = os.environ.get("JOULE_SOURCE", ".")
DATA = os.path.join(os.environ.get("JOULE_TEST_DATA", os.path.join(SOURCE, "..", "shared", "data")), "llm")
MODEL, VOCABULARY = os.path.join(DATA, "stories260K.bin"), os.path.join(DATA, "tok512.bin")
PATIENCE_S = 60


def missing():
    """Returns the reason why no server can be started, or None."""
    if not os.path.exists(MODEL):
        return "there is no model stories260K: JOULE_TEST_DATA"
    done = subprocess.run([FORGE, "serve", "--help"], capture_output=True, check=False)
    return None if done.returncode == 0 else "this build has no forge serve"


def data_of(name):
    with open(os.path.join(DATA, name), encoding="utf-8") as file:
        return file.read()


def reference_runs():
    """Yields (prompt, prompt's tokens, next 32 tokens, nats of the prompt) of reference_runs.txt."""
    lines = [line for line in data_of("reference_runs.txt").splitlines() if not line.startswith("#")]
    for prompt, greedy, nll, _ in zip(*[iter(lines[1:])] * 4):
        text, tokens = prompt.split('"')[1:]
        yield (text, [int(word) for word in tokens.split()[1:]], [int(word) for word in greedy.split()[1:]], float(nll.split()[1]))


class Server:
    """A server. before: words of a program that starts the server."""

    def __init__(self, *options, model=(MODEL, "--tokenizer", VOCABULARY), before=(), **environment):
        self.process = subprocess.Popen([*before, FORGE, "serve", *model, "--port", "0", "--threads", "1", *options],
                                        stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
        self.messages = ""
        for line in self.process.stderr:
            self.messages += line
            if "is ready" in line:
                break
        found = re.search(r"listening on http://(\S+)/", self.messages)
        assert found, self.messages
        self.address = found[1]

    def connection(self):
        return http.client.HTTPConnection(self.address, timeout=PATIENCE_S)

    def request(self, method, path, body=None, **headers):
        """Returns status, headers and body as text."""
        with contextlib.closing(self.connection()) as connection:
            connection.request(method, path, body if body is None or isinstance(body, bytes) else json.dumps(body),
                               {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}})
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()

    def get(self, path, **headers):
        return self.request("GET", path, **headers)

    def post(self, path, **fields):
        """Returns the status and the JSON of the answer."""
        status, _, text = self.request("POST", path, fields)
        return status, json.loads(text)

    def complete(self, prompt="", **fields):
        status, answer = self.post("/v1/completions", **{"prompt": prompt, "temperature": 0, **fields})
        assert status == 200, answer
        return answer

    def begin(self, path, **fields):
        """Sends a request for a stream. Returns its connection and response."""
        connection = self.connection()
        connection.request("POST", path, json.dumps({"stream": True, **fields}))
        return connection, connection.getresponse()

    def stream(self, path, **fields):
        """Returns the events of a stream, without [DONE]."""
        connection, response = self.begin(path, **fields)
        with contextlib.closing(connection):
            assert response.status == 200, response.read()
            return events(response)

    def metric(self, name, **labels):
        """Returns the value of a sample, or None."""
        text = self.get("/metrics")[2]
        for line in text.splitlines():
            found = re.fullmatch(r"([^{#]+)\{(.*)\} (\S+)", line)
            if found and found[1] == name and all(f'{key}="{value}"' in found[2] for key, value in labels.items()):
                return float(found[3])
        return None

    def wait_for(self, condition, what):
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if condition():
                return
            time.sleep(0.01)
        raise AssertionError(f"waited {PATIENCE_S} s in vain for {what}")

    def end(self, signal_number=signal.SIGTERM):
        """Ends the server. Returns its exit status and messages."""
        if self.process.poll() is None:
            self.process.send_signal(signal_number)
        self.messages += self.process.stderr.read()
        self.process.stderr.close()
        return self.process.wait(timeout=PATIENCE_S), self.messages


def events(response):
    """Parses a whole stream, and checks its form."""
    parts = response.read().decode().split("\n\n")
    assert parts[-2:] == ["data: [DONE]", ""], parts[-3:]
    parts = [part for part in parts[:-2] if not part.startswith(":")]
    assert all(part.startswith("data: ") for part in parts), parts
    return [json.loads(part[6:]) for part in parts]


@contextlib.contextmanager
def serving(*options, **keywords):
    server = Server(*options, **keywords)
    try:
        yield server
    finally:
        status, messages = server.end()
    assert status == 0 and "Sanitizer" not in messages, (status, messages)
