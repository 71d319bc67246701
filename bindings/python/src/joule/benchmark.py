"""EnergyBenchmark: watts, joules, utilisation and efficiency of functions, as a table."""
from __future__ import annotations

import functools
import inspect
import math
import sys
from typing import IO, Any, Callable, TypeVar, Union, overload

from .measurement import Measurement
from .meter import Meter
from .quantity import Quantity, total

__all__ = ["EnergyBenchmark"]

F = TypeVar("F", bound=Callable[..., Any])
Work = Union[float, Callable[[Any], float], None]  # a number, or a function of the result of the call

SHORT_S = 1.0  # many sensors have too few updates in a shorter time
STEADY = 0.1  # relative difference between the power of the beginning and of the rest that is called steady
HEADINGS = ("function", "calls", "s", "W", "J", "CPU", "GPU", "TFLOPS/W", "samples/J", "tokens/J", "class")


class EnergyBenchmark:
    """Measures the functions that are decorated with `measure`, and prints a table.

    All devices are included, and time is reported beside power. warmup: calls of a function that are made
    before its first measured call; leave it 0 if the function has side effects. min_seconds: each measured
    call repeats the function until this time has passed; 0: no repetition. `results` contains a
    joule.Measurement for each measured call.
    """

    def __init__(self, *, warmup: int = 0, min_seconds: float = 0.0, meter: Meter | None = None) -> None:
        self.warmup, self.min_seconds, self.meter = warmup, min_seconds, meter
        self.results: list[Measurement] = []
        self._is_warm: set[str] = set()

    @overload
    def measure(self, function: F) -> F: ...

    @overload
    def measure(self, *, name: str | None = None, flops: Work = None, samples: Work = None,
                tokens: Work = None) -> Callable[[F], F]: ...

    def measure(self, function: Any = None, *, name: str | None = None, flops: Work = None, samples: Work = None,
                tokens: Work = None) -> Any:
        """Decorates a function, whose calls are then measured. flops, samples and tokens state the work of
        one call, as a number or as a function of the call's result."""
        if function is None:
            return functools.partial(self.measure, name=name, flops=flops, samples=samples, tokens=tokens)
        if inspect.iscoroutinefunction(function):
            raise TypeError("EnergyBenchmark measures functions that are not coroutines: use joule.measure instead")
        label = name or function.__name__

        @functools.wraps(function)
        def measured(*args: Any, **kwargs: Any) -> Any:
            self._warm_up(label, function, args, kwargs)
            measurement = Measurement(label, meter=self.meter)
            with measurement:
                value = function(*args, **kwargs)
                while measurement.elapsed < self.min_seconds:
                    value = function(*args, **kwargs)
                    measurement.repetitions += 1
            for unit, work in (("flops", flops), ("samples", samples), ("tokens", tokens)):
                amount = work(value) if callable(work) else work
                setattr(measurement, unit, None if amount is None else amount * measurement.repetitions)
            self.results.append(measurement)
            return value
        return measured

    def _warm_up(self, label: str, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        if label not in self._is_warm:
            self._is_warm.add(label)
            for _ in range(self.warmup):
                function(*args, **kwargs)

    def print_results(self, file: IO[str] | None = None) -> None:
        """Prints the table to `file`, by default to standard output."""
        print(self, file=file or sys.stdout)

    def __str__(self) -> str:
        groups: dict[str, list[Measurement]] = {}
        for measurement in self.results:
            groups.setdefault(measurement.name, []).append(measurement)
        if not groups:
            return "no function was measured yet"
        rows = [HEADINGS, *(_row(name, group) for name, group in groups.items())]
        widths = [max(map(len, column)) for column in zip(*rows)]
        lines = ["  ".join(cell.ljust(width) if number in (0, len(widths) - 1) else cell.rjust(width)
                           for number, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows]
        return "\n".join([*lines, *_notes(groups)])

    def _repr_html_(self) -> str:
        from .skyline import table
        return table([measurement.to_dict() for measurement in self.results])


def _row(name: str, group: list[Measurement]) -> tuple[str, ...]:
    """Returns the cells of one function: means of a call, and ratios of sums."""
    calls = sum(measurement.repetitions for measurement in group)
    seconds = sum(measurement.seconds for measurement in group)
    joules = total(measurement.joules for measurement in group)
    watts = joules.times(1 / seconds, "W") if seconds > 0 else joules
    each = joules.times(1 / calls)
    return (name, str(calls), f"{seconds / calls:.3g}", _number(watts), str(each).rpartition(", ")[0] + ")"
            if each.is_known else "unknown", _share([(m.cpu_utilisation, m.seconds) for m in group]),
            _gpu_share(group), _efficiency(joules, group, "flops", 1e-12),
            _efficiency(joules, group, "samples"), _efficiency(joules, group, "tokens"), joules.cls)


def _number(quantity: Quantity) -> str:
    return f"{quantity.value:.3g}" if quantity.is_known else "unknown"


def _share(values: list[tuple[float, float]]) -> str:
    """Returns the mean of (ratio, seconds) in percent; unknown if a ratio is."""
    mean = sum(ratio * seconds for ratio, seconds in values) / sum(seconds for _, seconds in values)
    return "unknown" if math.isnan(mean) else f"{100 * mean:.0f} %"


def _gpu_share(group: list[Measurement]) -> str:
    """Returns the GPUs' utilisation; "-" if the machine has none."""
    devices = group[0].devices
    if devices and not any(name.startswith("gpu:") for name in devices):
        return "-"
    return _share([(measurement.gpu_utilisation, measurement.seconds) for measurement in group])


def _efficiency(joules: Quantity, group: list[Measurement], unit: str, factor: float = 1.0) -> str:
    """Returns work per joule; "-" if the work of a call was not stated."""
    amounts = [getattr(measurement, unit) for measurement in group]
    if any(amount is None for amount in amounts):
        return "-"
    return _number(joules.inverse(sum(amounts) * factor, ""))


def _notes(groups: dict[str, list[Measurement]]) -> list[str]:
    """Returns what a reader must know about the figures."""
    notes = ["Figures are means of a call. Joules are those of the whole machine, with a 90 % interval."]
    classes = {measurement.joules.cls for group in groups.values() for measurement in group}
    if classes & {"modelled", "assumed"}:
        notes.append("No sensor measures a part of this machine, so its energy is modelled: run `joule doctor`.")
    for name, group in groups.items():
        if min(measurement.seconds for measurement in group) < SHORT_S:
            notes.append(f"{name}: a measurement is shorter than {SHORT_S:g} s; EnergyBenchmark(min_seconds=1) repeats it.")
        changes = [change for change in map(_change_of_power, group) if change]
        if changes:
            notes.append(f"{name}: power changed from {changes[0][0]:.3g} W to {changes[0][1]:.3g} W; "
                         "EnergyBenchmark(warmup=1) begins at steady state.")
    return notes


def _change_of_power(measurement: Measurement) -> tuple[float, float] | None:
    """Returns the mean watts of the first fifth and of the rest, if their intervals do not overlap."""
    length = measurement.end_ns - measurement.begin_ns
    if length < SHORT_S * 1e9:
        return None
    middle = measurement.begin_ns + length // 5
    first = measurement.meter.window(measurement.begin_ns, middle).joules.times(5e9 / length)
    rest = measurement.meter.window(middle, measurement.end_ns).joules.times(1.25e9 / length)
    is_apart = first.high < rest.low or rest.high < first.low
    return (first.value, rest.value) if is_apart and abs(first.value / rest.value - 1) > STEADY else None
