"""Drives a headless Chromium through its DevTools protocol: opens a page, and evaluates JavaScript in it.

Needs only the standard library. The WebSocket client supports text messages to and from loopback.
"""
import base64
import json
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import time
import urllib.request


def find_browser():
    """Returns the path of Chromium, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class WebSocket:
    """A connection for text messages (RFC 6455)."""

    def __init__(self, url):
        host, path = url.removeprefix("ws://").split("/", 1)
        name, port = host.rsplit(":", 1)
        self.socket = socket.create_connection((name, int(port)), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.bytes = self.socket.makefile("rb")
        while self.bytes.readline().strip():
            pass

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        size = struct.pack("!BBH", 0x81, 0x80 | 126, len(data)) if len(data) < 1 << 16 else struct.pack("!BBQ", 0x81, 0x80 | 127, len(data))
        self.socket.sendall(size + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)))

    def receive(self):
        """Returns the next text message."""
        text = b""
        while True:
            first, size = struct.unpack("!BB", self.bytes.read(2))
            if size == 126:
                size, = struct.unpack("!H", self.bytes.read(2))
            elif size == 127:
                size, = struct.unpack("!Q", self.bytes.read(8))
            text += self.bytes.read(size)
            if first & 0x80:
                return text.decode()

    def close(self):
        self.bytes.close()
        self.socket.close()


class Page:
    """A page in a browser that this object started. Use it in a with statement."""

    def __init__(self, url, folder):
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", f"--user-data-dir={folder}"]
        self.process = subprocess.Popen([find_browser(), *options, url], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.count = 0
        self.connection = WebSocket(self.wait_for_target(os.path.join(folder, "DevToolsActivePort"), url))

    def wait_for_target(self, path, url):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if os.path.exists(path) and (lines := pathlib.Path(path).read_text(encoding="ascii").split()):
                with urllib.request.urlopen(f"http://127.0.0.1:{lines[0]}/json", timeout=60) as answer:
                    for target in json.load(answer):
                        if target["type"] == "page" and target["url"].startswith(url):
                            return target["webSocketDebuggerUrl"]
            time.sleep(0.1)
        raise TimeoutError("Chromium opened no page")

    def call(self, method, **parameters):
        """Calls a method of the protocol, and returns its result."""
        self.count += 1
        self.connection.send(json.dumps({"id": self.count, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.connection.receive())
            if message.get("id") == self.count:
                return message["result"]

    def evaluate(self, script):
        """Returns the value of a JavaScript expression."""
        return self.call("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def wait_until(self, script, seconds=60):
        """Waits until an expression is true. Returns its value, or the last value if the time is over."""
        end = time.monotonic() + seconds
        while not (value := self.evaluate(script)) and time.monotonic() < end:
            time.sleep(0.1)
        return value

    def picture(self, path):
        """Writes the page as a PNG file."""
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()
        self.process.terminate()
        self.process.wait(timeout=60)
