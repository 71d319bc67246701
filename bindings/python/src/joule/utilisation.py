"""How busy processors and GPUs were between two edges."""
from __future__ import annotations

import math
import os
import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, Iterable

from .errors import JouleError

if TYPE_CHECKING:
    from .meter import Meter

__all__ = ["CpuClock", "GpuWatch"]

PERIOD_S = 0.1  # time between readings of a GPU's utilisation
KEPT_SAMPLES = 36000  # an hour
EDGE_NS = 1_000_000  # the sample at the end of a block is taken within this time


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
    """Utilisation of a meter's GPUs while measurements run. One thread reads it. It ends a second after the
    last measurement, and never starts on a machine without such a sensor."""

    def __init__(self, meter: Meter) -> None:
        self._meter = weakref.ref(meter)
        self._running: set[object] = set()
        self._samples: deque[tuple[int, float]] = deque(maxlen=KEPT_SAMPLES)  # (time in ns, 0 to 1)
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

    def begin(self, user: object) -> None:
        meter = self._meter()
        if meter is not None and meter.gpu_gauges():
            self._running.add(user)
            if self._thread is None or not self._thread.is_alive():  # the thread of a parent is not alive
                self._stop = threading.Event()
                self._thread = threading.Thread(target=self._run, args=(self._stop,), name="joule-gpu", daemon=True)
                self._thread.start()

    def end(self, user: object) -> None:
        if user in self._running:
            self._running.discard(user)
            self._read()  # a short block has at least this sample

    def mean(self, begin_ns: int, end_ns: int) -> float:
        """Returns the mean of the samples in a block and of the one at its end; nan if there is none."""
        values = [value for time_ns, value in list(self._samples) if begin_ns <= time_ns <= end_ns + EDGE_NS]
        return sum(values) / len(values) if values else math.nan

    def stop(self) -> None:
        """Ends the thread. Must be called before the meter is closed, because the thread uses the meter."""
        self._stop.set()
        if self._thread is not None and self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self, stop: threading.Event) -> None:
        idle_since = time.monotonic()
        while time.monotonic() - idle_since < 1.0 and not stop.wait(PERIOD_S):
            if self._running:
                idle_since = time.monotonic()
                self._read()

    def _read(self) -> None:
        meter = self._meter()
        try:
            values = [first_known(map(meter.gauge, gauges)) for gauges in meter.gpu_gauges()] if meter else []
        except JouleError:  # the meter was closed
            return
        known = [value for value in values if not math.isnan(value)]
        if known:
            self._samples.append((time.monotonic_ns(), sum(known) / len(known)))


def first_known(values: Iterable[float]) -> float:
    return next((value for value in values if not math.isnan(value)), math.nan)
