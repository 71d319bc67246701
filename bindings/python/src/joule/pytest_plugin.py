"""Joules of each test: pytest --energy.

Only the call of a test is measured, not its fixtures. The energy is that of the whole machine, so run tests
one at a time on a quiet machine.
"""
from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Generator

import pytest

if TYPE_CHECKING:
    from .measurement import Measurement

SHOWN = 10  # tests in the summary


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("joule", "energy of tests")
    group.addoption("--energy", action="store_true", help="print the joules of each test")
    group.addoption("--energy-fail-over", metavar="JOULES", help="fail tests that use more, such as 5J or 200mJ")
    group.addoption("--energy-json", metavar="FILE", help="write the energy of all tests to a file")


def pytest_configure(config: Any) -> None:
    config.addinivalue_line("markers", "energy_budget(joules): fail the test if it uses more, for example "
                            'energy_budget(joules=5) or energy_budget(joules="200mJ")')
    config.pluginmanager.register(EnergyPlugin(config), "joule-energy")


class EnergyPlugin:
    """Measures the tests of one run. Nothing is measured, and libjoule is not loaded, unless an option or a
    marker asks for it."""

    def __init__(self, config: Any) -> None:
        self.is_shown = bool(config.getoption("--energy"))
        self.file = config.getoption("--energy-json")
        self.limit = math.inf
        limit = config.getoption("--energy-fail-over")
        if limit is not None:
            self.limit = _joules(limit, "--energy-fail-over")
        self.measured: dict[str, Measurement] = {}

    def limit_of(self, item: Any) -> float:
        """Returns the joules that a test may use; inf: no limit. The marker wins over the option."""
        marker = item.get_closest_marker("energy_budget")
        if marker is None:
            return self.limit
        value = marker.kwargs.get("joules", *marker.args[:1]) if marker.args else marker.kwargs.get("joules")
        if value is None:
            raise pytest.UsageError(f"{item.nodeid}: the marker energy_budget needs joules=...")
        return _joules(value, f"{item.nodeid}: energy_budget")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item: Any) -> Generator[None, Any, None]:
        limit = self.limit_of(item)
        if not (self.is_shown or self.file or math.isfinite(limit)):
            yield
            return
        from .measurement import Measurement
        with Measurement(item.nodeid[-47:]) as measurement:
            yield
        self.measured[item.nodeid] = measurement

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, None]:
        report = (yield).get_result()
        limit = self.limit_of(item)
        if call.when == "call" and report.passed and math.isfinite(limit) and item.nodeid in self.measured:
            excess = _excess(self.measured[item.nodeid], limit)
            if excess:
                report.outcome, report.longrepr = "failed", excess

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.file:
            self._write(self.file)
        if not self.measured or not self.is_shown:
            return
        from .quantity import total
        terminalreporter.section("energy of tests")
        ranked = sorted(self.measured.items(), key=lambda entry: -_rank(entry[1]))
        for name, measurement in ranked[:SHOWN]:
            terminalreporter.write_line(f"{str(measurement.joules):<40} {measurement.seconds:8.3f} s  {name}")
        if len(ranked) > SHOWN:
            terminalreporter.write_line(f"... and {len(ranked) - SHOWN} tests that use less")
        everything = total(measurement.joules for measurement in self.measured.values())
        terminalreporter.write_line(f"{everything} in {len(ranked)} tests, of the whole machine")

    def _write(self, path: str) -> None:
        rows = [{"test": name, **measurement.to_dict()} for name, measurement in self.measured.items()]
        for row in rows:
            del row["name"]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schema": "joule-pytest-1", "tests": rows}, file, indent=1, allow_nan=False)
            file.write("\n")


def _joules(value: Any, what: str) -> float:
    from .budgets import parse_joules
    try:
        return parse_joules(value)
    except ValueError as error:
        raise pytest.UsageError(f"{what}: {error}") from None


def _rank(measurement: Measurement) -> float:
    joules = measurement.joules
    return joules.value if joules.is_known else -1.0


def _excess(measurement: Measurement, limit: float) -> str:
    """Returns why a test fails: its best estimate is above the limit, or its energy is unknown. Else ""."""
    from .quantity import exact
    joules = measurement.joules
    limit_text = exact(limit).short()
    if not joules.is_known:
        return f"the energy is unknown, so the limit of {limit_text} cannot be checked: run `joule doctor`"
    if joules.value <= limit:
        return ""
    return (f"used {joules}, more than the limit of {limit_text} (within the limit with probability "
            f"{joules.probability_below(limit):.2f})")
