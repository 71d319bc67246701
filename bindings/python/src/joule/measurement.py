"""The energy of a block or function: joule.measure()."""
from __future__ import annotations

import functools
import inspect
import math
import time
from collections import deque
from ctypes import byref
from typing import Any, Callable, Iterable, TypeVar, overload

from . import _native, _sync
from ._native import fail, library, tag_of
from .errors import JouleError
from .meter import Meter, Window, default_meter
from .quantity import Quantity, total, unknown
from .utilisation import CpuClock

__all__ = ["Measurement", "measure", "to_frame"]

F = TypeVar("F", bound=Callable[..., Any])

KEPT_CALLS = 1000  # measurements that a decorated function keeps
FLAGS = {"all": 0, "cpu": _native.REGION_CPU, "gpu": _native.REGION_GPU}
SUM_OF = {"all": "total", "cpu": "cpu", "gpu": "gpu"}
PATIENCE_S = 2.0  # how long reading a figure waits for the sensors


class Measurement:
    """The energy of one block, as a context manager. Figures are computed when they are read.

    `joules` is the energy of the claimed devices (all: the whole machine) during the block. Reading a figure
    waits up to 2 s for the next update of the sensors; `wait` sets another limit. A figure that cannot be
    known is nan.
    """

    def __init__(self, name: str = "block", *, devices: str = "all", meter: Meter | None = None,
                 synchronise: bool = True, flops: float | None = None, samples: float | None = None,
                 tokens: float | None = None) -> None:
        if devices not in FLAGS:
            raise ValueError(f"devices is {devices!r}, but must be one of {', '.join(FLAGS)}")
        self.name = name
        self.flops, self.samples, self.tokens = flops, samples, tokens
        self.repetitions = 1  # how often the block ran the work
        self.meter = meter if meter is not None else default_meter()
        self._devices, self._flags = devices, FLAGS[devices]
        self._is_synchronised = synchronise
        self._region: Any = None
        self._window: Window | None = None
        self._cpu = CpuClock()

    # --- edges ---

    def __enter__(self) -> Measurement:
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.end()
        except JouleError as error:
            if error.status != "stale":  # a child after fork leaves the block of its parent
                raise

    def begin(self) -> None:
        """Begins the measurement: waits for the GPU if PyTorch uses one, and reads the sensors."""
        self._window = None
        self.meter.watch.begin(self)
        self._cpu.begin()
        if self._is_synchronised:
            _sync.synchronise()
        self.meter.sample()
        self._region = library().joule_begin_with(tag_of(self.name), self._flags)

    def end(self) -> None:
        """Ends the measurement. Raises JouleError if it has not begun or has ended already."""
        if self._is_synchronised:
            _sync.synchronise()
        status = library().joule_end(byref(self._region)) if self._region is not None else _native.INVALID
        if status != _native.OK:
            fail(f"end the measurement {self.name!r}", status, remedy="it is not running" * (status == _native.INVALID))
        self.meter.sample()
        self._cpu.end()
        self.meter.watch.end(self)

    def __call__(self, function: F) -> F:
        """Decorates a function: each call is measured with these options."""
        return decorate(function, self._again)

    def _again(self) -> Measurement:
        return Measurement(self.name, devices=self._devices, meter=self.meter, synchronise=self._is_synchronised,
                           flops=self.flops, samples=self.samples, tokens=self.tokens)

    # --- results ---

    def wait(self, timeout_s: float = PATIENCE_S) -> bool:
        """Waits for the final figures. Returns False if a sensor had no update in this time."""
        if self._region is None or not self._region.end_ns:
            raise JouleError(f"cannot read the measurement {self.name!r}: it has not ended", "invalid")
        if self._window is None or not self._window.is_final:
            self._window = self.meter.wait(self.begin_ns, self.end_ns, SUM_OF[self._devices], timeout_s)
        return self._window.is_final

    def _figures(self) -> Window:
        if self._window is None:
            self.wait()
        return self._window  # type: ignore[return-value]

    @property
    def is_final(self) -> bool:
        """False: the figures may still change, because a sensor has no update after the end yet. Does not
        wait."""
        return self.wait(0.0)

    @property
    def joules(self) -> Quantity:
        return self._figures().joules

    @property
    def cpu_joules(self) -> Quantity:
        """The part of `joules` on processors and memory."""
        return self._part("cpu")

    @property
    def gpu_joules(self) -> Quantity:
        """The part of `joules` on GPUs and accelerators; unknown if there is none."""
        return self._part("gpu")

    def _part(self, part: str) -> Quantity:
        self._figures()
        return self.meter.window(self.begin_ns, self.end_ns, part).joules

    @property
    def begin_ns(self) -> int:
        return int(self._region.begin_ns)

    @property
    def end_ns(self) -> int:
        return int(self._region.end_ns)

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.begin_ns) / 1e9

    @property
    def elapsed(self) -> float:
        """Seconds since the measurement began, while it runs."""
        return (time.monotonic_ns() - self.begin_ns) / 1e9

    @property
    def watts(self) -> Quantity:
        """The mean power."""
        return self.joules.times(1 / self.seconds, "W") if self.seconds > 0 else unknown("W")

    @property
    def coverage(self) -> float:
        """The part of the time, 0 to 1, that sensors covered."""
        return self._figures().coverage

    @property
    def devices(self) -> dict[str, Quantity]:
        """Joules of each device. Empty if `joule run` measures this process."""
        self._figures()
        parts: dict[str, list[Quantity]] = {}
        for domain in self.meter.domains():
            if domain.has_energy and domain.in_total:
                parts.setdefault(domain.device or domain.name, []).append(
                    self.meter.window(self.begin_ns, self.end_ns, domain.id).joules)
        return {name: total(quantities) for name, quantities in parts.items()}

    @property
    def cpu_utilisation(self) -> float:
        """Busy share of all CPUs of the machine, 0 to 1; nan if it is unknown."""
        return self._cpu.utilisation

    @property
    def gpu_utilisation(self) -> float:
        """Mean share of time in which the GPUs' multiprocessors were active, 0 to 1; nan if it is unknown."""
        return self.meter.watch.mean(self.begin_ns, self.end_ns)

    @property
    def cpu_seconds(self) -> float:
        """CPU time of this process and of its ended children."""
        return self._cpu.process_seconds

    @property
    def tflops_per_watt(self) -> Quantity:
        """Work per energy: 1e12 FLOP per joule. Unknown unless `flops` is given."""
        return self._per_joule(None if self.flops is None else self.flops / 1e12, "TFLOPS/W")

    @property
    def samples_per_joule(self) -> Quantity:
        return self._per_joule(self.samples, "samples/J")

    @property
    def tokens_per_joule(self) -> Quantity:
        return self._per_joule(self.tokens, "tokens/J")

    def _per_joule(self, work: float | None, unit: str) -> Quantity:
        return self.joules.inverse(math.nan if work is None else work, unit)

    # --- output ---

    def __str__(self) -> str:
        return f"{self.name}: {self.joules}, {self.watts.short()} over {self.seconds:.3g} s"

    def __repr__(self) -> str:
        return f"<joule.Measurement {self.name!r}>" if self._region is None or not self._region.end_ns else f"<{self}>"

    def to_dict(self) -> dict[str, Any]:
        """Returns the figures in one level, for a row of a table. Unknown figures are None."""
        row: dict[str, Any] = {"name": self.name, "seconds": self.seconds}
        joules = self.joules.to_dict()
        for key, quantity in (("joules", self.joules), ("watts", self.watts), ("cpu_joules", self.cpu_joules),
                              ("gpu_joules", self.gpu_joules), ("tflops_per_watt", self.tflops_per_watt),
                              ("samples_per_joule", self.samples_per_joule),
                              ("tokens_per_joule", self.tokens_per_joule)):
            row[key] = quantity.to_dict()["value"]
            if key == "joules":
                row.update(joules_low=joules["low"], joules_high=joules["high"], joules_class=joules["class"])
        for key, number in (("coverage", self.coverage), ("cpu_utilisation", self.cpu_utilisation),
                            ("gpu_utilisation", self.gpu_utilisation), ("cpu_seconds", self.cpu_seconds)):
            row[key] = number if math.isfinite(number) else None
        return row

    def skyline(self) -> str:
        """Returns power over time as an SVG image."""
        from .skyline import draw
        return draw(self)

    def _repr_html_(self) -> str:
        from .skyline import page
        return page(self)


def decorate(function: F, create: Callable[[], Measurement]) -> F:
    """Returns the function with a measurement around each call. It keeps the last ones in `measurements`."""
    kept: deque[Measurement] = deque(maxlen=KEPT_CALLS)

    @functools.wraps(function)
    def measured(*args: Any, **kwargs: Any) -> Any:
        with create() as measurement:
            kept.append(measurement)
            return function(*args, **kwargs)

    @functools.wraps(function)
    async def measured_later(*args: Any, **kwargs: Any) -> Any:
        with create() as measurement:
            kept.append(measurement)
            return await function(*args, **kwargs)

    wrapper: Any = measured_later if inspect.iscoroutinefunction(function) else measured
    wrapper.measurements = kept
    return wrapper  # type: ignore[no-any-return]


@overload
def measure(name: F) -> F: ...


@overload
def measure(name: str | None = None, *, devices: str = "all", meter: Meter | None = None, synchronise: bool = True,
            flops: float | None = None, samples: float | None = None, tokens: float | None = None) -> Measurement: ...


def measure(name: Any = None, **options: Any) -> Any:
    """Measures the energy of a block (`with joule.measure("train") as m:`) or of each call of a function
    (`@joule.measure` or `@joule.measure("train")`).

    devices: "all", "cpu" or "gpu". meter: default the meter of the process. synchronise: wait for the GPU at
    both edges if PyTorch uses one. flops, samples, tokens: work of the block, for efficiency. A decorated
    function keeps the measurements of its last 1000 calls in its attribute `measurements`.
    """
    if callable(name):
        return Measurement(name.__qualname__, **options)(name)
    return Measurement(name or "block", **options)


def to_frame(measurements: Iterable[Measurement]) -> Any:
    """Returns a pandas.DataFrame with a row for each measurement. Needs pandas."""
    import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]
    return pandas.DataFrame([measurement.to_dict() for measurement in measurements])
