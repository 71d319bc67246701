"""Clients of `forge serve` that leave at any time, are slow, or send wrong bytes.

Each kind of client is a function that plays one client, and returns the statuses of the answers that it received. The
status is None if the server closed the connection without an answer.
"""
import contextlib
import json
import random
import socket
import struct
import time

from forge_serving import PATIENCE_S

SHORT = {"prompt": "Once", "max_tokens": 4, "temperature": 0}
LONG = {"prompt": [[1]] * 3, "max_tokens": 300, "ignore_eos": True, "temperature": 1}
HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
CLOSED = None
REFUSED = (CLOSED, 400, 413, 414, 431, 501, 505)
ANY = (*REFUSED, 200, 403, 404, 405, 411, 417)
KINDS = []  # (function, allowed statuses)


def kind(*statuses):
    def add(function):
        KINDS.append((function, statuses))
        return function
    return add


def request(body, *lines, path="/v1/completions", length=None, version="1.1"):
    """Returns the bytes of a POST request. length: the value of Content-Length, if it is not true."""
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = [f"POST {path} HTTP/{version}", "Host: localhost", f"Content-Length: {len(body) if length is None else length}", *lines]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def chunked(parts, *lines):
    """Returns the bytes of a POST request with a body in chunks."""
    head = ["POST /v1/completions HTTP/1.1", "Host: localhost", "Transfer-Encoding: chunked", *lines]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (*parts, b""))


class Client:
    """A connection. The generator determines what its client does."""

    def __init__(self, address, generator):
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
        self.file = self.socket.makefile("rb")
        self.generator = generator

    def send(self, data):
        """Sends bytes. The server may close the connection before it has received all of them."""
        with contextlib.suppress(ConnectionError):
            self.socket.sendall(data)

    def send_some(self, data):
        self.send(data[:self.generator.randrange(1, len(data))])

    def end_sending(self):
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def pause(self, max_s=0.02):
        time.sleep(self.generator.uniform(0, max_s))

    def leave(self):
        """Closes the connection; one client in two resets it."""
        if self.generator.random() < 0.5:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.file.close()
        self.socket.close()

    def read_chunks(self):
        while size := int(self.file.readline().split(b";")[0] or b"0", 16):
            yield self.file.read(size)
            self.file.readline()
        self.file.readline()

    def answer(self):
        """Returns the status and the body of the next answer; (None, b"") if the server closed the connection."""
        try:
            status = CLOSED
            while status in (CLOSED, 100):
                line = self.file.readline()
                if not line:
                    return CLOSED, b""
                status = int(line.split()[1])
                headers = {}
                while (line := self.file.readline().strip()):
                    name, value = line.decode().split(":", 1)
                    headers[name.lower()] = value.strip()
            if headers.get("transfer-encoding") == "chunked":
                return status, b"".join(self.read_chunks())
            return status, self.file.read(int(headers["content-length"]) if "content-length" in headers else -1)
        except ConnectionError:
            return CLOSED, b""

    def statuses(self, count=1):
        """Reads answers and checks the form of errors. Returns their statuses, until the connection is closed."""
        got = []
        while len(got) < count and got[-1:] != [CLOSED]:
            status, body = self.answer()
            got.append(status)
            if status and status >= 400 and body.startswith(b"{"):
                assert sorted(json.loads(body)["error"]) == ["code", "message", "param", "type"], body
        return got


# --- clients that leave ---------------------------------------------------------------------------------------

@kind()
def leaves_before_its_request(client):
    client.pause()


@kind()
def leaves_in_the_header(client):
    client.send_some(request(LONG).partition(b"\r\n\r\n")[0])
    client.pause()


@kind()
def leaves_in_the_body(client):
    head, _, body = request({**LONG, "padding": "x" * 2000}).partition(b"\r\n\r\n")
    client.send(head + b"\r\n\r\n")
    client.send_some(body)
    client.pause()


@kind()
def leaves_in_a_chunk(client):
    client.send_some(chunked([json.dumps(SHORT).encode()] * 3))
    client.pause()


@kind()
def leaves_before_the_answer(client):
    client.send(request({**LONG, "stream": client.generator.random() < 0.5}))
    client.pause(0.1)


@kind()
def leaves_in_the_stream(client):
    client.send(request({**LONG, "stream": True}))
    client.file.read1(client.generator.randrange(1, 3000))
    client.pause()


@kind()
def leaves_between_requests(client):
    for _ in range(client.generator.randrange(1, 4)):
        client.send(request(SHORT))
        client.statuses()
    client.send_some(request(SHORT))


@kind()
def leaves_before_answers_to_many_requests(client):
    client.send((request(SHORT) + HEALTH) * client.generator.randrange(2, 20))
    client.pause()


@kind(CLOSED, 200)
def closes_its_direction_after_the_request(client):
    client.send(request(SHORT))
    client.end_sending()
    return client.statuses()


# --- slow clients ---------------------------------------------------------------------------------------------

@kind(CLOSED, 200)  # the server may close it as the oldest connection without a request
def sends_slowly(client):
    data = request(SHORT)
    for byte in data[:100]:
        client.send(bytes([byte]))
        client.pause(0.002)
    client.send(data[100:])
    return client.statuses()


@kind()
def reads_slowly(client):
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    client.send(request({**LONG, "stream": True}))
    for _ in range(10):
        client.file.read1(50)
        client.pause()


@kind()
def reads_nothing(client):
    client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    client.send(request({**LONG, "stream": True, "logprobs": 5}))
    client.pause(0.2)


@kind()
def sends_nothing(client):
    """The caller keeps the connection."""


# --- wrong bytes ----------------------------------------------------------------------------------------------

@kind(*REFUSED)
def sends_another_protocol(client):
    generator = client.generator
    client.send(generator.choice((generator.randbytes(generator.randrange(1, 5000)), b"\r\n" * 5000, b"\0" * 5000, b"GET\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n",
                                  b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + generator.randbytes(500), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")))
    client.end_sending()
    return client.statuses()


@kind(*ANY)
def sends_a_request_with_wrong_bytes(client):
    data = bytearray(request({**SHORT, "stream": True}))
    for _ in range(client.generator.randrange(1, 5)):
        data[client.generator.randrange(len(data))] = client.generator.randrange(256)
    client.send(bytes(data))
    client.end_sending()
    return client.statuses()


@kind(*REFUSED)
def sends_large_headers(client):
    line = client.generator.choice(("X: " + "x" * 100_000, "\r\n".join(f"X-{i}: {i}" for i in range(5000)), "X" * 50_000 + ": x", "Cookie: " + "a=b;" * 20_000))
    client.send(request(SHORT, line))
    return client.statuses()


@kind(*REFUSED, 404)
def sends_a_long_path(client):
    client.send(request(SHORT, path="/" + "x" * client.generator.choice((2000, 20_000, 200_000))))
    return client.statuses()


@kind(CLOSED, 413)
def sends_a_large_body(client):
    client.send(request(b" " * client.generator.choice((5 << 20, 12 << 20))))
    return client.statuses()


@kind(CLOSED, 400, 413)
def announces_a_large_body(client):
    client.send(request(b"{", length=10 ** client.generator.randrange(7, 19)))
    client.end_sending()
    return client.statuses()


@kind(413)
def asks_for_permission_to_send_a_large_body(client):
    client.send(request(b"", "Expect: 100-continue", length=10 ** client.generator.randrange(7, 19)))
    return client.statuses()


@kind(*REFUSED)
def sends_a_length_that_is_not_a_number(client):
    lines = client.generator.choice((("x",), ("-1",), ("1e3",), ("18446744073709551617",), ("5, 6",), ("5", "Content-Length: 6")))
    client.send(request(SHORT, *lines[1:], length=lines[0]))
    client.end_sending()
    return client.statuses()


@kind(*REFUSED)
def sends_a_length_that_is_too_small(client):
    client.send(request(SHORT, length=client.generator.randrange(20)))
    client.end_sending()
    return client.statuses(2)


@kind(CLOSED, 400)
def sends_a_length_that_is_too_large(client):
    client.send(request(SHORT, length=1000))
    client.end_sending()
    return client.statuses()


@kind(200)
def sends_chunks(client):
    body = json.dumps(SHORT).encode()
    cut = client.generator.randrange(1, len(body))
    client.send(chunked([body[:cut], body[cut:]]))
    return client.statuses()


@kind(*REFUSED, 200, 500)  # 500: libmicrohttpd has no room for the chunk's extension
def sends_wrong_chunks(client):
    size = client.generator.choice((b"zz", b"-5", b"f" * 17, b"7fffffffffffffff", b"", b"5 ", b"0x5", b"5;" + b"x" * 50_000))
    client.send(chunked([]).replace(b"\r\n0\r\n", b"\r\n" + size + b"\r\n{} \r\n0\r\n"))
    client.end_sending()
    return client.statuses()


@kind(*REFUSED, 200)
def sends_chunks_and_a_length(client):
    client.send(chunked([json.dumps(SHORT).encode()], "Content-Length: 5"))
    client.end_sending()
    return client.statuses()


@kind(400)
def sends_a_wrong_body(client):
    generator = client.generator
    client.send(request(generator.choice((b"[" * 100_000, b'{"prompt":' * 5000 + b"1", b'{"prompt":"\xff\xfe"}', b'{"prompt":"\xed\xa0\x80"}', b'{"prompt":"\\u0000"}', b"\0" * 100,
                                          b'{"model":"%s","prompt":1}' % ("é" * 500).encode()[:-1], b'{"prompt":[' + b"1," * 100_000 + b"1]}", b"{}",
                                          json.dumps(SHORT).encode()[:generator.randrange(1, 40)])),
                        path=generator.choice(("/v1/completions", "/v1/chat/completions"))))
    return client.statuses()


@kind(*ANY)
def uses_another_method(client):
    method = client.generator.choice((b"OPTIONS", b"TRACE", b"CONNECT", b"PATCH", b"HEAD", b"get", b"X" * 1000))
    client.send(request(SHORT).replace(b"POST", method, 1))
    client.end_sending()
    return client.statuses() if method != b"HEAD" else ()


@kind(403)
def names_another_host(client):
    host = client.generator.choice((b"Host: evil.example\r\n", b"Host: [::1\r\n", b"Host: \xff\r\n"))
    client.send(request(SHORT).replace(b"Host: localhost\r\n", host))
    return client.statuses()


# --- correct clients ------------------------------------------------------------------------------------------

@kind(200)
def sends_requests_at_once(client):
    client.send((request(SHORT) + HEALTH) * 3)
    return client.statuses(6)


@kind(200)
def waits_for_permission_to_send_the_body(client):
    head, _, body = request(SHORT, "Expect: 100-continue").partition(b"\r\n\r\n")
    client.send(head + b"\r\n\r\n")
    assert b" 100 " in client.file.readline()
    client.file.readline()
    client.send(body)
    return client.statuses()


@kind(200)
def uses_the_former_version(client):
    client.send(request({**SHORT, "stream": True}, version="1.0"))
    status, body = client.answer()
    assert body.endswith(b"data: [DONE]\n\n"), body
    return [status]


@kind(200)
def expects_the_right_answer(client):
    client.send(request(SHORT))
    status, body = client.answer()
    assert json.loads(body)["choices"][0]["text"] == " upon a time,", body
    return [status]


def play(address, number, seed=0):
    """Plays client `number`. Returns its connection if this stays open, otherwise None. Raises AssertionError."""
    function, allowed = KINDS[number % len(KINDS)]
    client = Client(address, random.Random(f"{seed} {number}"))
    try:
        statuses = function(client) or ()
        assert set(statuses) <= set(allowed), statuses
    except (AssertionError, OSError, ValueError, LookupError) as error:
        raise AssertionError(f"client {number} {function.__name__}: {error!r}") from error
    finally:
        if function is not sends_nothing:
            client.leave()
    return client if function is sends_nothing else None
