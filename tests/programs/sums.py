"""Reads joules from printed tables and pages."""
import html.parser
import re

UNITS = {"J": 1, "mJ": 1e-3, "uJ": 1e-6, "nJ": 1e-9, "pJ": 1e-12, "kJ": 1e3, "MJ": 1e6}


def joules(number, unit):
    return float(number) * UNITS[unit]


def seconds(number, unit):
    return float(number) * {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]


def energies(table):
    """Returns the energy of each row: its last amount in joules outside parentheses. Rows without an amount
    are omitted."""
    rows = []
    for line in table.splitlines():
        found = re.findall(r"([\d.]+) (\w?J)\b", re.sub(r"\([^()]*\)", "", line))
        if found:
            rows.append(joules(*found[-1]))
    return rows


def times(table):
    """Returns the time of each row. The time is in the column before the share."""
    return [seconds(*found) for found in re.findall(r"([\d.]+) (\w?s) +[\d.]+ %", table)]


class Page(html.parser.HTMLParser):
    """Parses the page of a step to a tree. Each module has its energy, its modules and its launches."""

    def __init__(self, text):
        super().__init__()
        self.root = {"own": None, "parts": []}
        self.open, self.texts, self.cells = [self.root], [], []
        self.feed(text)
        self.end_row()

    def handle_starttag(self, tag, attrs):
        if tag == "details":
            self.open.append({"own": None, "parts": []})
        elif tag in ("summary", "span"):
            self.texts.append("")
        elif tag == "tr":
            self.end_row()
        elif tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag):
        if tag == "span":
            self.last = self.texts.pop()
        elif tag == "summary":
            self.texts.pop()
            self.open[-1]["own"] = self.last
            self.last = None
        elif tag == "table":
            self.end_row()
        elif tag == "details":
            done = self.open.pop()
            if done["own"] is None:  # this element only groups launches and has no amount of its own
                self.open[-1]["parts"] += done["parts"]
            else:
                self.open[-1]["parts"].append(done)

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data
        elif self.texts:
            self.texts[-1] += data

    def end_row(self):
        if self.cells:
            self.open[-1]["parts"].append({"own": self.cells[-1], "parts": []})
        self.cells = []

    last = None


def amount(text):
    number, unit = text.split()
    return joules(number, unit)


def check_page(test, text):
    """Checks that each module's energy is the sum of its contents. Returns the energy of the step."""
    def check(module):
        if module["parts"]:
            parts = sum(amount(part["own"]) for part in module["parts"])
            test.assertAlmostEqual(parts / amount(module["own"]), 1, delta=0.011, msg=module)
            for part in module["parts"]:
                check(part)
    step, = Page(text).root["parts"]
    check(step)
    return amount(step["own"])
