"""How busy processors and GPUs were between two edges."""
from __future__ import annotations

import math
import os
import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, Iterable, NamedTuple

from .errors import JouleError

if TYPE_CHECKING:
    from .meter import Meter

__all__ = ["CpuClock", "GpuWatch"]

PERIOD_S = 0.1  # time between readings of a GPU's utilisation
KEPT_SAMPLES = 36000  # an hour
EDGE_NS = 1_000_000  # the sample at the end of a block is taken within this time
CLOCKS_AGE_NS = 1_000_000  # age of CPU times at an edge; a tenth of their resolution


class _Clocks(NamedTuple):
    time_ns: float
    machine: bytes  # begin of /proc/stat; empty: unknown
    process_seconds: float


_UNKNOWN = _Clocks(-math.inf, b"", math.nan)
_last = _UNKNOWN


def _read_clocks() -> _Clocks:
    """Returns the CPU time of the machine and of the process, at most CLOCKS_AGE_NS old. On a machine with
    many CPUs, the kernel needs up to a millisecond for /proc/stat."""
    global _last
    now = time.monotonic_ns()
    if now - _last.time_ns > CLOCKS_AGE_NS:
        _last = _Clocks(now, _read_stat(), sum(os.times()[:4]))
    return _last


def _read_stat() -> bytes:
    try:
        file = os.open("/proc/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(file, 256)
    except OSError:
        return b""
    finally:
        os.close(file)


def _forget_clocks() -> None:
    """A child after fork has another CPU time."""
    global _last
    _last = _UNKNOWN


os.register_at_fork(after_in_child=_forget_clocks)


def _ticks(stat: bytes) -> tuple[int, int]:
    """Returns (busy, all) clock ticks of all CPUs since boot; (0, 0) if they are unknown."""
    try:
        ticks = [int(word) for word in stat.split(b"\n", 1)[0].split()[1:9]]
    except ValueError:
        return 0, 0
    return sum(ticks) - sum(ticks[3:5]), sum(ticks)  # idle and waiting for input or output are not busy


class CpuClock:
    """CPU time of the machine and of this process between begin() and end(), in clock ticks of 10 ms."""

    def __init__(self) -> None:
        self._begin = self._end = _UNKNOWN

    def begin(self) -> None:
        self._begin, self._end = _read_clocks(), _UNKNOWN

    def end(self) -> None:
        self._end = _read_clocks()

    @property
    def process_seconds(self) -> float:
        return self._end.process_seconds - self._begin.process_seconds

    @property
    def utilisation(self) -> float:
        busy, passed = (after - before for after, before in zip(_ticks(self._end.machine), _ticks(self._begin.machine)))
        # With 100 ticks a second, a shorter time has no useful share. The process itself still has one.
        return min(1.0, busy / passed) if passed > 0 else math.nan


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
