#!/usr/bin/env python3
"""joule plot, joule run --plot: the pictures of records show the energy that the report states."""
import collections
import json
import os
import random
import re
import struct
import subprocess
import tempfile
import time
import unittest
import xml.etree.ElementTree
import zlib

import browser
import record_writer
import run_support
import trace_check
from run_support import JOULE, patient

WATTS = 20
HOSTILE = 'multiply </script><b> & "quoted" \u00e9 ]]>'
HOUR_SAMPLES = 3_600_000
SVG = "{http://www.w3.org/2000/svg}"
# Only a loose limit decides, because the machine may be busy; the goal of 2 s is printed with the time.
MAX_OPEN_S = 20
MAX_PAGE_BYTES = 5_000_000


def joule(*arguments, check=True, **options):
    return subprocess.run([JOULE, *arguments], check=check, capture_output=True, text=True, timeout=120, **options)


def plot(*arguments, **options):
    return joule("plot", *arguments, **options)


def has_plot():
    return os.path.exists(os.path.join(os.path.dirname(JOULE), "..", "libexec", "joule", "joule-plot"))


def decode_png(data):
    """Returns width, height and rows of RGB bytes of a PNG with 8 bits and without interlacing."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    place, pixels = 8, b""
    while place < len(data):
        size, kind = struct.unpack(">I4s", data[place:place + 8])
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", data[place + 8:place + 18])
        if kind == b"IDAT":
            pixels += data[place + 8:place + 8 + size]
        place += 12 + size
    assert depth == 8 and colour in (2, 6), (depth, colour)
    channels = 3 if colour == 2 else 4
    raw = zlib.decompress(pixels)
    return width, height, [raw[i * (width * channels + 1):(i + 1) * (width * channels + 1)] for i in range(height)]


class Plots(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.record = cls.path("test.joule")
        with record_writer.RecordWriter(cls.record, "./offload <x> & co") as record:
            package = record.channel("package-0")
            gpu = record.channel("gpu-0", scope=6, device="gpu:0", tick_s=0.01)
            watts = [10 if i < 1000 else 30 if i < 3000 else 10 for i in range(4000)]
            watts[2500] = 90
            record.points(package, record_writer.steps(watts, 0.001, gaps=set(range(3500, 3700))))
            record.points(gpu, record_writer.steps([40 if 100 <= i < 200 else 5 for i in range(400)], 0.01))
            record.region(0.5, 1.0, "initialise")
            record.region(1.0, 3.0, HOSTILE)
            record.region(1.2, 1.8, "inner")
            record.region(1.0, 2.0, "on the GPU", thread=1, flags=2)
            record.end(4)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    def report(self):
        return json.loads(joule("report", "--json", "-", self.record).stdout)

    def svg(self, *options):
        plot(*options, "-o", self.path("out.svg"), self.record)
        return xml.etree.ElementTree.parse(self.path("out.svg")).getroot()

    # --- SVG ------------------------------------------------------------------------------------------------

    def test_svg_names_regions_and_energy(self):
        texts = [element.text or "" for element in self.svg().iter(f"{SVG}text")]
        self.assertIn("./offload <x> & co", texts)
        self.assertIn("initialise", texts)
        self.assertTrue(any(text.startswith("multiply </script><b> &") for text in texts), texts)
        total = self.report()["gross"]["energy_joules"]
        caption = " ".join(texts)
        joules = float(re.search(r"Energy ([0-9.]+) J \(measured", caption)[1])
        self.assertAlmostEqual(joules, total, delta=0.005 * total)
        self.assertIn("Sensors covered 95 % of the time.", caption)
        self.assertIn("no data", texts)

    def test_svg_is_self_contained(self):
        for element in self.svg().iter():
            self.assertNotIn(element.tag, (f"{SVG}script", f"{SVG}image", f"{SVG}a", f"{SVG}use"))
            for name, value in element.attrib.items():
                self.assertNotIn("href", name)
                self.assertNotIn("http", value.replace("http://www.w3.org/2000/svg", ""))

    def test_areas_of_svg_have_the_energy(self):
        """Measures the areas of the layers by the ticks of the axes."""
        root = self.svg("--by", "device")
        y_of = {}
        x_of = {}
        for text in root.iter(f"{SVG}text"):
            if re.fullmatch(r"\d+", text.text or "") and text.get("text-anchor") == "end":
                y_of[float(text.text)] = float(text.get("y")) - 4
            if re.fullmatch(r"[\d.]+", text.text or "") and text.get("text-anchor") == "middle":
                x_of[float(text.text)] = float(text.get("x"))
        watts_per_pixel = max(y_of) / (y_of[0] - y_of[max(y_of)])
        seconds_per_pixel = max(x_of) / (x_of[max(x_of)] - x_of[0])
        titles = {}
        for group in root.iter(f"{SVG}g"):
            title = group.find(f"{SVG}title")
            paths = group.findall(f"{SVG}path")
            if title is not None and paths:
                titles[title.text] = sum(self.area(path.get("d")) for path in paths) * watts_per_pixel * seconds_per_pixel
        self.assertEqual(len(titles), 2, titles)
        for title, joules in titles.items():
            stated = float(re.search(r": ([0-9.]+) J", title)[1])
            self.assertAlmostEqual(joules, stated, delta=0.01 * stated, msg=title)

    @staticmethod
    def area(path):
        """Returns the area of a path of M, L, H and V."""
        x = y = 0.0
        points = []
        for letter, numbers in re.findall(r"([MLHV])([-0-9. ]+)", path):
            values = [float(value) for value in numbers.split()]
            x = values[0] if letter in "MLH" else x
            y = values[-1] if letter in "MLV" else y
            points.append((x, y))
        return abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(points, points[1:] + points[:1]))) / 2

    def test_part_of_the_record_is_shown(self):
        texts = " ".join(element.text or "" for element in self.svg("--from", "2s", "--to", "2500ms", "--title", "T&T").iter(f"{SVG}text"))
        self.assertIn("T&T", texts)
        joules = float(re.search(r"Energy ([0-9.]+) J", texts)[1])
        self.assertAlmostEqual(joules, 0.5 * 35, delta=0.1)

    def test_two_records_share_their_axes(self):
        plot("-o", self.path("pair.svg"), self.record, self.record)
        root = xml.etree.ElementTree.parse(self.path("pair.svg")).getroot()
        texts = [element.text for element in root.iter(f"{SVG}text")]
        self.assertEqual(texts.count("power (W)"), 2)
        self.assertGreater(float(root.get("height")), 600)

    def test_wrong_usage_is_refused(self):
        for arguments, message in ((["-o", "x.gif"], "must end with .svg, .png or .html"), (["--by", "colour"], "--by needs"),
                                   (["--from", "soon"], "--from"), (["-o", self.record], "named twice")):
            done = plot(*arguments, self.record, check=False)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertRegex(done.stderr, message)
        for arguments in ([], [self.record] * 3):
            self.assertEqual(plot(*arguments, check=False).returncode, 2)
        for arguments in ([self.path("absent")], ["--from", "5s", self.record], ["-o", "/absent/x.svg", self.record], ["/dev/null"]):
            done = plot(*arguments, check=False)
            self.assertIn(done.returncode, (1, 2), arguments)
            self.assertRegex(done.stderr, r"^joule plot: ")

    # --- PNG ------------------------------------------------------------------------------------------------

    def test_png_has_its_size_and_is_not_blank(self):
        with open(self.path("suppressions"), "w", encoding="ascii") as file:
            file.write("leak:libfontconfig\n")  # it keeps its cache; only the address sanitizer reads this file
        options = {**os.environ, "LSAN_OPTIONS": f"print_suppressions=0:suppressions={self.path('suppressions')}"}
        done = plot("-o", self.path("out.png"), self.record, check=False, env=options)
        if "lacks cairo" in done.stderr:
            self.skipTest("this build lacks cairo")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("out.png"), "rb") as file:
            width, height, rows = decode_png(file.read())
        self.assertEqual((width, height), (1800, 840))
        self.assertGreater(len(set(rows)), 100)

    # --- Perfetto -------------------------------------------------------------------------------------------

    def test_trace_has_counters_and_slices(self):
        plot("--perfetto", self.path("trace.json"), self.record)
        events = trace_check.read_trace(self.path("trace.json"))
        slices = {event["name"]: event for event in events if event["ph"] == "X" and event["cat"] == "region"}
        self.assertEqual(set(slices), {"initialise", HOSTILE, "inner", "on the GPU"})
        self.assertAlmostEqual(slices["inner"]["ts"], 1.2e6, delta=1)
        self.assertAlmostEqual(slices["inner"]["dur"], 0.6e6, delta=1)
        self.assertNotEqual(slices["inner"]["tid"], slices["on the GPU"]["tid"])
        gaps = [event for event in events if event["ph"] == "X" and event["cat"] == "gap"]
        self.assertAlmostEqual(sum(event["dur"] for event in gaps), 0.2e6, delta=10)
        # The counter is constant between two events, so its integral is the energy.
        counters = [event for event in events if event["ph"] == "C" and event["name"].startswith("power gpu-0")]
        joules = sum(a["args"]["W"] * (b["ts"] - a["ts"]) * 1e-6 for a, b in zip(counters, counters[1:]))
        self.assertAlmostEqual(joules, 40 + 3 * 5, delta=0.01)
        names = {event["args"]["name"] for event in events if event["ph"] == "M"}
        self.assertLessEqual({"./offload <x> & co", "thread 0", "thread 1"}, names)

    def test_trace_of_regions_in_any_order_and_with_phases_obeys_the_format(self):
        regions = [(0.2, 0.4, "inner"), (0.1, 0.6, "outer"), (0.5, 0.9, "crosses the end of outer"), (0.1, 0.2, "first"),
                   (0.1, 0.1, "empty"), (0.55, 0.58, HOSTILE), (0.9, 1.9, "last"), (-0.1, 0.05, "begins before the record")]
        with record_writer.RecordWriter(self.path("mixed.joule"), "\u00e9" * 400 + "\0\n\"") as record:
            channels = [record.channel("package-0", cls=3), record.channel("gpu-0", scope=6, device="gpu:0")]
            noise = random.Random(8)
            watts = [noise.gauss(10 if i < 1000 else 30, 1) for i in range(2000)]
            for channel, gaps in zip(channels, (range(500, 700), range(600, 800))):
                record.points(channel, record_writer.steps(watts, 0.001, gaps=set(gaps) | {1500}))
            for thread in (300, 0):
                for begin, end, name in regions:
                    record.region(begin, end, name, thread=thread)
            record.region(0.3, 1.5, "alone", thread=7)
            record.end(2)
        plot("--phases", "--perfetto", self.path("trace.json"), self.path("mixed.joule"))
        events = trace_check.read_trace(self.path("trace.json"))
        found = collections.Counter((event["name"], event["ph"]) for event in events if event.get("cat") == "region")
        crossing = "crosses the end of outer"
        self.assertEqual(found, {("alone", "X"): 1, (crossing, "b"): 2, (crossing, "e"): 2,
                                 **{(name, "X"): 2 for _, _, name in regions if name != crossing}})
        gaps = [event for event in events if event.get("cat") == "gap"]
        self.assertEqual(len({event["tid"] for event in gaps}), 2)
        self.assertAlmostEqual(sum(event["dur"] for event in gaps), 402e3, delta=1)
        phases = [event for event in events if event.get("cat") == "phase"]
        self.assertRegex(phases[0]["name"], r"^phase 1: (19|20)\.\d W$")
        self.assertRegex(phases[-1]["name"], r"^phase \d: (59|60)\.\d W$")
        self.assertAlmostEqual(phases[-1]["ts"], 1e6, delta=5e3)
        names = [event["args"]["name"] for event in events if event["ph"] == "M"]
        self.assertEqual(sorted(names[1:]), ["gpu-0", "package-0", "phases (a guess)", "phases (a guess)", "sensors", "thread 0",
                                             "thread 300", "thread 7"])

    def test_trace_of_a_measured_command_obeys_the_format(self):
        with run_support.Machine(WATTS) as machine:
            joule("record", "-q", "-o", self.path("real.joule"), "--root", machine.root, "--interval", "10ms", "--", "sleep", "0.5")
        plot("--phases", "--perfetto", self.path("trace.json"), self.path("real.joule"))
        events = trace_check.read_trace(self.path("trace.json"))
        counters = [event for event in events if event["ph"] == "C" and "W" in event["args"]]
        joules = sum(a["args"]["W"] * (b["ts"] - a["ts"]) * 1e-6 for a, b in zip(counters, counters[1:]))
        self.assertAlmostEqual(joules, WATTS * 0.5, delta=4)

    # --- options --------------------------------------------------------------------------------------------

    def test_options_may_be_before_between_and_after_records(self):
        pictures = []
        for words in (["-o", "out.svg", "--by", "device", self.record, self.record],
                      [self.record, "-o", "out.svg", self.record, "--by=device"],
                      [self.record, self.record, "--by", "device", "-o", "out.svg"],
                      ["--by", "device", "-oout.svg", "--", self.record, self.record]):
            plot(*words, cwd=self.folder.name)
            with open(self.path("out.svg"), encoding="utf-8") as file:
                pictures.append(file.read())
            os.remove(self.path("out.svg"))
        self.assertEqual(len(set(pictures)), 1)
        for words, message in (([], "FILE is missing"), ([self.record] * 3, "unexpected argument"),
                               ([self.record, "--", "-o", "x.svg"], "unexpected argument 'x.svg'")):
            done = plot(*words, check=False)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(message, done.stderr)

    # --- terminal -------------------------------------------------------------------------------------------

    def test_terminal_without_utf8_gets_ascii(self):
        done = plot(self.record, env={**os.environ, "LC_ALL": "C"})
        self.assertTrue(done.stdout.isascii())
        self.assertIn("#", done.stdout)
        self.assertIn("initialise", done.stdout)
        self.assertIn("?", done.stdout)
        self.assertNotIn("\033", done.stdout)
        self.assertIn("\u2588", plot(self.record, env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout)

    def test_phases_are_called_a_guess(self):
        output = plot("--phases", self.record).stdout
        self.assertIn("guess", output)
        phases = re.findall(r"^ +\d+ +([\d.]+) s to +([\d.]+) s +([\d.]+) W", output, re.MULTILINE)
        self.assertGreaterEqual(len(phases), 3, output)
        self.assertTrue(any(abs(float(begin) - 1) < 0.05 for begin, _, _ in phases), phases)

    @patient
    def test_run_shows_the_power_after_the_report(self):
        with run_support.Machine(WATTS) as machine:
            done = joule("run", "--root", machine.root, "--plot", "--interval", "10ms", "--", "sleep", "0.5")
            self.assertEqual(done.stdout, "")
            self.assertRegex(done.stderr, r"(?s)^joule .*\nsleep 0\.5\n[\d.]+ J \(measured\), largest power")
            record = self.path("run.joule")
            done = joule("record", "-o", record, "--root", machine.root, "--plot", "-q", "--interval", "10ms", "--", "sleep", "0.5")
            self.assertIn("(measured), largest power", done.stderr)
        report = json.loads(joule("report", "--json", "-", "--plot", record).stdout)
        self.assertAlmostEqual(report["gross"]["energy_joules"], WATTS * report["duration_seconds"], delta=2)
        done = joule("run", "--plot", "--", "false", check=False)
        self.assertEqual(done.returncode, 1)

    def test_damaged_records_do_no_harm(self):
        with open(self.record, "rb") as file:
            data = file.read()
        for length in (0, 8, 20, 100, 500, len(data) // 2, len(data) - 3):
            with open(self.path("cut.joule"), "wb") as file:
                file.write(data[:length])
            for options in ([], ["-o", self.path("cut.svg")], ["-o", self.path("cut.html")], ["--perfetto", self.path("cut.json")]):
                self.assertIn(plot(*options, "--phases", self.path("cut.joule"), check=False).returncode, (0, 1), (length, options))

    # --- HTML -----------------------------------------------------------------------------------------------

    def open_page(self, path):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        page = browser.Page("about:blank", folder.name)
        self.addCleanup(page.__exit__)
        page.call("Emulation.setDeviceMetricsOverride", width=1200, height=900, deviceScaleFactor=1, mobile=False)
        page.call("Page.navigate", url="file://" + path)
        self.assertTrue(page.wait_until("document.readyState === 'complete' && document.getElementById('window') && "
                                        "document.getElementById('window').textContent !== ''"))
        return page

    @staticmethod
    def move(page, seconds, kind="mouseMoved", **options):
        place = page.evaluate(f"(() => {{ const b = canvas.getBoundingClientRect(); return [b.left + xOf({seconds}), b.top + 40]; }})()")
        page.call("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], **options)

    def need_browser(self):
        if not browser.find_browser():
            self.skipTest("no Chromium (./dev setup peer)")

    def test_page_shows_power_zooms_and_makes_no_request(self):
        self.need_browser()
        path = self.path("out.html")
        plot("-o", path, self.record)
        page = self.open_page(path)
        self.assertEqual(page.evaluate("performance.getEntriesByType('resource').length"), 0)
        self.assertEqual(page.evaluate("document.querySelectorAll('[src], link, b').length"), 0)
        self.assertEqual(page.evaluate("document.getElementById('title').textContent"), "./offload <x> & co")
        self.move(page, 0.25)
        self.assertRegex(page.wait_until("(t => t.includes('W') && t)(get('readout').textContent)"), r": 15\.0\sW")
        self.move(page, 1.5)
        self.assertRegex(page.wait_until("(t => t.includes('inner') && t)(get('readout').textContent)"), r": 70\.0\sW.*inner.*\u203a inner")
        self.move(page, 3.6)  # the package is unknown there, and must not count as 0 W: the page says that data lacks
        self.assertTrue(page.evaluate("!figures(3.55, 3.6).hasAll && figures(3.55, 3.6).min === null"))
        total = self.report()["gross"]["energy_joules"]
        shown = page.evaluate("figures(0, 4).joules.reduce((a, b) => a + b, 0)")
        self.assertAlmostEqual(shown, total, delta=0.001 * total)
        # the peak of one sample survives at every zoom
        self.assertAlmostEqual(page.evaluate("figures(0, 4).max"), 95, delta=0.1)

        self.move(page, 1.0, "mousePressed", button="left", clickCount=1)
        self.move(page, 2.0)
        self.move(page, 2.0, "mouseReleased", button="left", clickCount=1)
        self.assertTrue(page.wait_until("Math.abs(state.low - 1) < 0.02 && Math.abs(state.high - 2) < 0.02"))
        self.move(page, 1.5, "mouseWheel", deltaX=0, deltaY=-300)
        self.assertTrue(page.wait_until("state.high - state.low < 0.7 && state.low < 1.5 && state.high > 1.5"))
        page.evaluate("canvas.focus()")
        for key, expected in (("-", "state.high - state.low > 0.7"), ("0", "state.low === 0 && Math.abs(state.high - 4) < 1e-9")):
            page.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
            self.assertTrue(page.wait_until(expected), key)

        rows = page.evaluate("Array.from(document.querySelectorAll('#regions tbody tr'), r => Array.from(r.cells, c => c.textContent))")
        self.assertEqual({row[0] for row in rows}, {"initialise", HOSTILE, "inner", "on the GPU"})
        for row in rows:
            self.assertRegex(row[5], r"J to .*J")
            self.assertEqual(row[6], "derived")
        page.evaluate("get('by').value = '1'; get('by').dispatchEvent(new Event('change'))")
        self.assertIn("package-0", page.evaluate("get('legend').textContent"))

    def test_page_follows_the_dark_mode(self):
        self.need_browser()
        path = self.path("dark.html")
        plot("-o", path, self.record)
        page = self.open_page(path)
        corner = "Array.from(context.getImageData(70, 20, 1, 1).data)"
        self.assertGreater(sum(page.evaluate(corner)[:3]), 600)
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        self.assertTrue(page.wait_until(f"{corner}.slice(0, 3).every(value => value < 100)"))

    def test_page_of_an_hour_at_1_khz_opens_soon(self):
        self.need_browser()
        record, path = self.path("hour.joule"), self.path("hour.html")
        noise = [((i * 7919) % 1009) / 100 for i in range(1009)]
        with record_writer.RecordWriter(record, "train") as writer:
            package = writer.channel("package-0")
            watts = (60 + 25 * (i // 60000 % 2) + noise[i % 1009] + (100 if i == 1_234_567 else 0) for i in range(HOUR_SAMPLES))
            writer.points(package, record_writer.steps(watts, 0.001))
            for minute in range(60):
                writer.region(60 * minute, 60 * minute + 58, "even" if minute % 2 == 0 else "odd")
            writer.end(3600)
        begin = time.monotonic()
        plot("-o", path, record)
        made_s = time.monotonic() - begin
        os.unlink(record)
        size = os.path.getsize(path)
        page = self.open_page(path)
        open_s = page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd") / 1000
        print(f"1 h at 1 kHz: page of {size / 1e6:.2f} MB, made in {made_s:.1f} s, opened in {open_s:.2f} s (goal: 5 MB, 2 s)")
        self.assertLessEqual(size, MAX_PAGE_BYTES)
        self.assertLess(open_s, MAX_OPEN_S)
        self.assertAlmostEqual(page.evaluate("figures(0, 3600).max"), 160 + noise[1_234_567 % 1009], delta=0.2)


if __name__ == "__main__":
    if not has_plot():
        run_support.skip("this build has no joule plot")
    run_support.main()
