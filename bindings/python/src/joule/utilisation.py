"""How busy processors and GPUs were between two edges."""
from __future__ import annotations

import math
import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .meter import Meter

__all__ = ["CpuClock", "GpuWatch"]

PERIOD_S = 0.1  # time between readings of a GPU's utilisation


def _machine_ticks() -> tuple[int, int]:
    """Returns (busy, all) clock ticks of all CPUs since boot; (0, 0) if they are unknown."""
    try:
        with open("/proc/stat", "rb") as file:
            ticks = [int(word) for word in file.readline().split()[1:9]]
    except (OSError, ValueError):
        return 0, 0
    return sum(ticks) - sum(ticks[3:5]), sum(ticks)  # idle and waiting for input or output are not busy


class CpuClock:
    """CPU time of the machine and of this process between begin() and end()."""

    def __init__(self) -> None:
        self.utilisation = math.nan
        self.process_seconds = math.nan
        self._machine = (0, 0)
        self._process = 0.0

    def begin(self) -> None:
        self._machine, self._process = _machine_ticks(), sum(os.times()[:4])

    def end(self) -> None:
        self.process_seconds = sum(os.times()[:4]) - self._process
        busy, passed = (after - before for after, before in zip(_machine_ticks(), self._machine))
        # With 100 ticks a second, a shorter time has no useful share. The process itself still has one.
        self.utilisation = min(1.0, busy / passed) if passed > 0 else math.nan


class GpuWatch:
    """Mean utilisation of the GPUs between begin() and end(): SM activity if the driver reports it, else busy
    time. A thread reads it; there is no thread on a machine without such a sensor."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._values: list[float] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        gauges = self._gauges()
        self._values = []
        if gauges:
            self._stop.clear()
            self._thread = threading.Thread(target=self._run, args=(gauges,), name="joule-gpu", daemon=True)
            self._thread.start()

    def end(self) -> None:
        if self._thread is not None:
            self._stop.set()
            self._thread.join()
            self._thread = None

    @property
    def utilisation(self) -> float:
        return sum(self._values) / len(self._values) if self._values else math.nan

    def _gauges(self) -> list[int]:
        """Returns one domain for each GPU."""
        chosen: dict[str, tuple[bool, int]] = {}
        for domain in self._meter.domains():
            if domain.device.startswith("gpu:") and domain.label in ("SM activity", "busy time"):
                candidate = (domain.label == "SM activity" and domain.state == "ok", domain.id)
                chosen[domain.device] = max(chosen.get(domain.device, (False, -1)), candidate)
        return [identity for _, identity in chosen.values()]

    def _run(self, gauges: list[int]) -> None:
        while not self._stop.wait(PERIOD_S):
            self._read(gauges)
        if not self._values:  # the block was shorter than the period
            self._read(gauges)

    def _read(self, gauges: list[int]) -> None:
        values = [value for value in map(self._meter.gauge, gauges) if not math.isnan(value)]
        if values:
            self._values.append(sum(values) / len(values))
