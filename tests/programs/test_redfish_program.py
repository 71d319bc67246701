#!/usr/bin/env python3
"""Checks joule-redfish and the source that runs it, against a fake management controller on a loopback port.

The controller has its own resources or those of DMTF's mockup, with users, delays, missing resources and
certificates. Note: the mockup's values contradict each other. The test checks which of them is used.
"""
import base64
import contextlib
import http.server
import json
import os
import pathlib
import shutil
import ssl
import subprocess
import tempfile
import threading
import unittest

from run_support import skip

JOULE = os.environ["JOULE"]
PROGRAM = pathlib.Path(JOULE).parent.parent / "libexec/joule/joule-redfish"
MOCKUP = pathlib.Path(os.environ.get("JOULE_TEST_DATA", "/nowhere")) / "fixtures/redfish/public-rackmount1"
SECRET = "opensesame-53"
CHASSIS = "/redfish/v1/Chassis/S1"


def link(path):
    return {"@odata.id": path}


def server_tree():
    """A server with two power supplies, one empty bay, and all resources."""
    return {
        "/redfish/v1/": {"Chassis": link("/redfish/v1/Chassis")},
        "/redfish/v1/Chassis": {"Members": [link(CHASSIS)]},
        CHASSIS: {"Manufacturer": "Contoso", "Model": "S1", "PowerSubsystem": link(CHASSIS + "/PowerSubsystem"),
                  "EnvironmentMetrics": link(CHASSIS + "/EnvironmentMetrics"), "Power": link(CHASSIS + "/Power"),
                  "Links": {"ComputerSystems": [link("/redfish/v1/Systems/1")]}},
        CHASSIS + "/PowerSubsystem": {"PowerSupplies": link(CHASSIS + "/PowerSupplies")},
        CHASSIS + "/PowerSupplies": {"Members": [link(CHASSIS + f"/PowerSupplies/{n}") for n in (1, 2, 3)]},
        CHASSIS + "/PowerSupplies/1": {"Metrics": link(CHASSIS + "/PowerSupplies/1/Metrics")},
        CHASSIS + "/PowerSupplies/2": {"Metrics": link(CHASSIS + "/PowerSupplies/2/Metrics")},
        CHASSIS + "/PowerSupplies/3": {"Status": {"State": "Absent"}},
        CHASSIS + "/PowerSupplies/1/Metrics": {"InputPowerWatts": {"Reading": 200.5}},
        CHASSIS + "/PowerSupplies/2/Metrics": {"InputPowerWatts": {"Reading": 180}},
        CHASSIS + "/EnvironmentMetrics": {"PowerWatts": {"Reading": 371}},
        CHASSIS + "/Power": {"PowerControl": [{"PowerConsumedWatts": 344}]},
    }


class Controller:
    """A fake controller with these resources; close() ends it."""

    def __init__(self, tree, user=None, certificate=None, redirect=None, refusal=401):
        self.tree, self.user, self.redirect, self.refusal, self.requests = tree, user, redirect, refusal, []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 20

            def do_GET(self):
                outer.answer(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # ignores clients that close the connection
        scheme = "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            scheme = "https"
        self.url = f"{scheme}://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))
        self.thread.start()

    def answer(self, request):
        self.requests.append((request.path, request.headers.get("Authorization")))
        wanted = self.user and "Basic " + base64.b64encode(self.user.encode()).decode()
        body, code, headers = b"{}", 200, {}
        if self.redirect:
            code, headers = 302, {"Location": self.redirect + request.path}
        elif wanted and request.headers.get("Authorization") != wanted:
            code = self.refusal
        else:
            resource = self.tree.get(request.path)
            code = 404 if resource is None else 200
            body = resource if isinstance(resource, bytes) else json.dumps(resource or {}).encode()
        request.send_response(code)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        with contextlib.suppress(OSError):
            request.wfile.write(body)

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class Redfish(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name, text, mode=0o600):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def serve(self, tree, **options):
        controller = Controller(tree, **options)
        self.addCleanup(controller.close)
        return controller

    def config(self, url, *lines):
        return self.path("config", "\n".join([f"url = {url}", *(lines or ["verify = no"])]) + "\n")

    def ask(self, config, *views):
        """Runs joule-redfish. Returns the lines as {kind: [watts]}, and the failure as (status, message)."""
        done = subprocess.run([PROGRAM, config, *views], capture_output=True, text=True, timeout=60, check=False)
        self.assertNotIn(SECRET, done.stdout + done.stderr)
        readings, failure = {}, None
        for line in done.stdout.splitlines():
            word, rest = line.split(" ", 1)
            if word == "reading":
                kind, watts, path = rest.split(" ")
                self.assertTrue(path.startswith("/redfish/v1/"))
                readings.setdefault(kind, []).append(None if watts == "-" else float(watts))
            elif word == "failed":
                failure = (int(rest.split(" ")[0]), rest.split(" ", 1)[1])
        self.assertEqual(done.returncode, 125 if failure else 0, done)
        return readings, failure

    def test_all_powers_of_a_server(self):
        controller = self.serve(server_tree())
        readings, failure = self.ask(self.config(controller.url))
        self.assertIsNone(failure)
        self.assertEqual(readings, {"supply": [200.5, 180], "environment": [371], "control": [344]})

    def test_views_that_are_known_take_one_request_each(self):
        controller = self.serve(server_tree())
        readings, _ = self.ask(self.config(controller.url), f"environment:{CHASSIS}/EnvironmentMetrics",
                               f"supply:{CHASSIS}/PowerSupplies/2/Metrics")
        self.assertEqual(readings, {"environment": [371], "supply": [180]})
        self.assertEqual(len(controller.requests), 2)

    def test_readings_that_are_null_or_gone_are_unknown(self):
        tree = server_tree()
        tree[CHASSIS + "/PowerSupplies/1/Metrics"] = {"InputPowerWatts": {"Reading": None}}
        tree[CHASSIS + "/EnvironmentMetrics"] = {"PowerWatts": None}
        tree[CHASSIS + "/Power"] = {"PowerControl": [{"PowerConsumedWatts": -3}]}
        del tree[CHASSIS + "/PowerSupplies/2/Metrics"]
        readings, failure = self.ask(self.config(self.serve(tree).url))
        self.assertIsNone(failure)
        self.assertEqual(readings, {"supply": [None, None], "environment": [None], "control": [None]})

    def test_a_supply_without_metrics_leaves_no_sum(self):
        tree = server_tree()
        tree[CHASSIS + "/PowerSupplies/2"] = {"Status": {"State": "Enabled"}}
        readings, _ = self.ask(self.config(self.serve(tree).url))
        self.assertEqual(readings, {"environment": [371], "control": [344]})

    def test_the_older_resource_alone(self):
        tree = server_tree()
        for name in ("PowerSubsystem", "EnvironmentMetrics"):
            del tree[CHASSIS][name]
        tree[CHASSIS + "/Power"]["PowerSupplies"] = [{"PowerInputWatts": 100}, {"PowerInputWatts": 90.5},
                                                     {"Status": {"State": "Absent"}}]
        readings, _ = self.ask(self.config(self.serve(tree).url))
        self.assertEqual(readings, {"supplies": [190.5], "control": [344]})
        tree[CHASSIS + "/Power"]["PowerSupplies"][1]["PowerInputWatts"] = None
        readings, _ = self.ask(self.config(self.serve(tree).url))
        self.assertEqual(readings, {"supplies": [None], "control": [344]})

    def test_configured_chassis_is_read(self):
        tree = server_tree()
        second = "/redfish/v1/Chassis/S2"
        tree["/redfish/v1/Chassis"]["Members"].append(link(second))
        tree[second] = {"EnvironmentMetrics": link(second + "/EnvironmentMetrics")}
        tree[second + "/EnvironmentMetrics"] = {"PowerWatts": {"Reading": 9}}
        controller = self.serve(tree)
        # S2 contains no computer, so its power is not counted.
        self.assertEqual(self.ask(self.config(controller.url))[0]["control"], [344])
        named = self.config(controller.url, "verify = no", "chassis = S2")
        self.assertEqual(self.ask(named)[0], {"environment": [9]})
        tree[second]["Links"] = {"ComputerSystems": [link("/redfish/v1/Systems/2")]}
        status, words = self.ask(self.config(controller.url))[1]
        self.assertEqual(status, 7)
        self.assertIn("S1, S2", words)
        tree[second]["Links"]["ContainedBy"] = link(CHASSIS)
        self.assertEqual(self.ask(self.config(controller.url))[0]["control"], [344])

    def test_password_comes_from_its_file(self):
        controller = self.serve(server_tree(), user=f"joule:{SECRET}")
        secret = self.path("secret", SECRET + "\n")
        lines = ["verify = no", "user = joule", f"password_file = {secret}"]
        self.assertEqual(self.ask(self.config(controller.url, *lines))[0]["control"], [344])
        self.path("secret", "wrong\n")
        status, words = self.ask(self.config(controller.url, *lines))[1]
        self.assertEqual((status, "refuses" in words), (2, True))
        self.path("secret", SECRET + "\n", 0o644)
        status, words = self.ask(self.config(controller.url, *lines))[1]
        self.assertEqual((status, "chmod" in words), (2, True))

    def test_a_user_without_the_right_to_read(self):
        controller = self.serve(server_tree(), user="another:user", refusal=403)
        status, words = self.ask(self.config(controller.url))[1]
        self.assertEqual((status, "does not allow this user to read /redfish/v1" in words), (2, True), words)

    def test_no_other_host_sees_the_password(self):
        elsewhere = self.serve(server_tree())
        secret = self.path("secret", SECRET + "\n")
        lines = ["verify = no", "user = joule", f"password_file = {secret}"]
        redirecting = self.serve({}, redirect=elsewhere.url)
        self.assertEqual(self.ask(self.config(redirecting.url, *lines))[1][0], 4)
        tree = server_tree()
        tree["/redfish/v1/"]["Chassis"] = link(elsewhere.url + "/redfish/v1/Chassis")
        self.assertEqual(self.ask(self.config(self.serve(tree).url, *lines))[1][0], 1)
        tree["/redfish/v1/"]["Chassis"] = link(elsewhere.url.removeprefix("http:") + "/redfish/v1/Chassis")
        self.assertEqual(self.ask(self.config(self.serve(tree).url, *lines))[1][0], 1)
        self.assertEqual(elsewhere.requests, [])

    def test_invalid_answers_are_failures(self):
        for body in (b"", b"<html>", b'{"Chassis":', b"[" * 100000, b" " * (1 << 21), b"\0\0", b"[1]", b"null"):
            tree = server_tree()
            tree["/redfish/v1/"] = body
            readings, failure = self.ask(self.config(self.serve(tree).url))
            self.assertEqual(readings, {})
            self.assertIn(failure[0], (1, 4), body[:20])

    def test_a_config_that_is_wrong(self):
        for text, words in (("", "url is missing"), ("url = ftp://x\n", "https://"), ("url = https://a:b@c\n", "password_file"),
                            ("url = http://127.0.0.1\n", "verify = no"), ("colour = red\n", "keys are"),
                            ("nonsense\n", "key = value"), ("url = https://x\nverify = maybe\n", "yes or no")):
            status, message = self.ask(self.path("config", text))[1]
            self.assertEqual(status, 7)
            self.assertIn(words, message)
        self.assertEqual(self.ask("/nowhere/config")[1][0], 1)

    def test_unreachable_controller_is_reported(self):
        controller = Controller({})
        controller.close()
        self.assertEqual(self.ask(self.config(controller.url))[1][0], 4)

    def test_certificates_are_verified(self):
        if not shutil.which("openssl"):
            self.skipTest("no openssl to make a certificate with")
        key, certificate = (os.path.join(self.folder.name, name) for name in ("key", "certificate"))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=bmc", "-addext",
                        "subjectAltName=IP:127.0.0.1"], capture_output=True, check=True)
        controller = self.serve(server_tree(), certificate=(certificate, key))
        status, words = self.ask(self.config(controller.url, "verify = yes"))[1]
        self.assertEqual((status, "certificate" in words), (2, True))
        self.assertEqual(controller.requests, [])
        trusted = self.config(controller.url, f"ca = {certificate}")
        self.assertEqual(self.ask(trusted)[0]["control"], [344])
        self.assertEqual(self.ask(self.config(controller.url, "verify = no"))[0]["control"], [344])
        elsewhere = self.config(controller.url.replace("127.0.0.1", "localhost"), f"ca = {certificate}")
        self.assertEqual(self.ask(elsewhere)[1][0], 2)  # the certificate is trusted, but was issued for another host

    def node_views(self, config):
        done = subprocess.run([JOULE, "devices", "--json", "--sources", "redfish"], capture_output=True, text=True,
                              timeout=60, check=True, env={**os.environ, "JOULE_REDFISH": config})
        self.assertNotIn(SECRET, done.stdout + done.stderr)
        return {d["name"]: d for d in json.loads(done.stdout)["domains"]}

    def test_mockup_of_dmtf_is_read(self):
        if not MOCKUP.is_dir():
            self.skipTest(f"no mockup at {MOCKUP}")
        tree = {"/redfish/v1/" + str(p.parent.relative_to(MOCKUP)): p.read_bytes() for p in MOCKUP.rglob("index.json")}
        tree.setdefault("/redfish/v1/", {"Chassis": link("/redfish/v1/Chassis")})
        tree.setdefault("/redfish/v1/Chassis", {"Members": [link("/redfish/v1/Chassis/1U")]})
        config = self.config(self.serve(tree).url)
        readings, failure = self.ask(config)
        self.assertIsNone(failure)
        self.assertEqual(readings, {"supply": [937.4], "environment": [374], "control": [344]})
        views = self.node_views(config)
        self.assertEqual(set(views), {"node-supplies", "node-chassis", "node-control"})
        self.assertEqual(views["node-supplies"]["model"], "Contoso 3500RX")
        self.assertEqual({v["state"] for v in views.values()}, {"ok"})

    def test_refusal_is_shown_by_joule(self):
        secret = self.path("secret", "wrong\n")
        controller = self.serve(server_tree(), user=f"joule:{SECRET}")
        self.assertEqual(self.node_views(self.config(controller.url, "verify = no", "user = joule",
                                                     f"password_file = {secret}")), {})


if __name__ == "__main__":
    if not PROGRAM.exists():
        skip(f"there is no {PROGRAM}: this build has no libcurl")
    unittest.main(verbosity=1)
