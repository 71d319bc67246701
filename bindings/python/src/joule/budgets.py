"""Limits of energy, power and temperature while a block runs: joule.budget()."""
from __future__ import annotations

import atexit
import math
from ctypes import byref, c_double, c_void_p, cast
from typing import Any, Callable, Union

from . import _native
from ._native import fail, library, new_sized
from .errors import BudgetExceeded
from .meter import SUMS, Meter, default_meter
from .quantity import Quantity, exact

__all__ = ["Budget", "budget", "parse_joules", "parse_watts"]

OnExceeded = Union[str, Callable[["Budget"], None]]
OVER = 3  # JOULE_BUDGET_OVER

_running: set[Budget] = set()  # keeps callbacks alive while libjoule may call them


class Budget:
    """A budget of the whole machine (or of its "cpu" or "gpu") for a block. See joule.budget."""

    def __init__(self, joules: float | str | None = None, *, watts: float | str | None = None,
                 temperature_rise_kelvin: float | None = None, devices: str = "all",
                 on_exceeded: OnExceeded = "raise", meter: Meter | None = None) -> None:
        if not callable(on_exceeded) and on_exceeded not in ("raise", "stop"):
            raise ValueError(f'on_exceeded is {on_exceeded!r}, but must be "raise", "stop" or a function')
        self.limit_joules = parse_joules(joules) if joules is not None else 0.0
        self.limit_watts = parse_watts(watts) if watts is not None else 0.0
        self.on_exceeded = on_exceeded
        self.meter = meter if meter is not None else default_meter()
        self._options = new_sized(_native.BudgetOptions)
        self._options.flags = _native.BUDGET_STOP if on_exceeded == "stop" else 0
        self._options.domain = SUMS["total" if devices == "all" else devices]
        self._options.max_joules, self._options.max_watts = self.limit_joules, self.limit_watts
        self._options.max_temperature_rise_kelvin = temperature_rise_kelvin or 0.0
        self._callback = _native.BudgetCallback(self._notify)
        self._options.notify = cast(self._callback, c_void_p)
        self._handle: int | None = None
        self._last = new_sized(_native.BudgetResult)
        self._last.joules = _native.QuantityStruct(math.nan, math.nan, math.nan, 0, 0)
        self._is_over = False

    def _notify(self, _budget: Any, status: int, _context: Any) -> None:
        """Is called by a thread of the meter."""
        if status == OVER and not self._is_over:
            self._is_over = True
            if callable(self.on_exceeded):
                self.on_exceeded(self)

    def __enter__(self) -> Budget:
        self.meter.sample()
        handle, error = c_void_p(), _native.Error()
        status = library().joule_budget_begin(self.meter.handle, byref(self._options), byref(handle), byref(error))
        if status != _native.OK:
            fail("begin the budget", status, error)
        self._handle, self._is_over = handle.value, False
        _running.add(self)
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        self.end()
        if kind is None:
            self.check()

    def end(self) -> None:
        """Ends the budget without judging it. Has no effect if it has ended."""
        if self._handle is not None:
            handle, self._handle = self._handle, None
            library().joule_budget_end(handle, byref(self._last))
            _running.discard(self)

    def check(self) -> None:
        """Raises BudgetExceeded if the best estimate at the last reading exceeds a limit and `on_exceeded` is
        "raise". Takes about a microsecond and reads no sensor."""
        if self.is_exceeded and self.on_exceeded == "raise":
            limits = [exact(limit, unit).short() for limit, unit in
                      ((self.limit_joules, "J"), (self.limit_watts, "W")) if limit]
            raise BudgetExceeded(f"the budget of {' and '.join(limits) or 'temperature'} is exceeded: used "
                                 f"{self.joules}", self.joules, self.limit_joules)

    def _now(self) -> Any:
        if self._handle is not None:
            library().joule_budget_now(self._handle, byref(self._last))
        return self._last

    @property
    def is_exceeded(self) -> bool:
        return self._is_over or (self.limit_joules > 0 and self.joules.value > self.limit_joules)

    @property
    def status(self) -> str:
        """"within_budget", "near_budget", "over_budget", "undecided", "below_resolution" or
        "not_measured"."""
        return str(library().joule_budget_status_name(self._now().status).decode())

    @property
    def joules(self) -> Quantity:
        """Joules since the budget began, at the last reading."""
        return Quantity.of_struct(self._now().joules)

    @property
    def probability(self) -> float:
        """Probability that the use is within the joules of the budget; nan if it is unknown."""
        return float(self._now().probability) if self._now().struct_size else math.nan

    @property
    def remaining_joules(self) -> float:
        """Joules left by the best estimate, at least 0; nan if the use is unknown or there is no limit."""
        return max(0.0, self.limit_joules - self.joules.value) if self.limit_joules else math.nan


def budget(joules: float | str | None = None, **options: Any) -> Budget:
    """Returns a budget: `with joule.budget("500 J") as b:`, and `b.check()` at points where the work may
    stop.

    joules, watts: limits as numbers or texts such as "2.5kJ". on_exceeded: "raise" raises BudgetExceeded from
    check() and at the end of the block; "stop" sends SIGTERM to this process; a function is called once, in a
    thread of the meter, with the budget. The function may read and sample, but must not end the budget.
    """
    return Budget(joules, **options)


@atexit.register
def _end_all() -> None:
    """Callbacks must not run after the interpreter ended."""
    for running in list(_running):
        running.end()


def _parse(text: float | str, dimension: int) -> float:
    if not isinstance(text, str):
        return float(text)
    value, error = c_double(), _native.Error()
    status = library().joule_parse(text.encode(), dimension, byref(value), byref(error))
    if status != _native.OK:
        raise ValueError(error.message.decode(errors="replace"))
    return value.value


def parse_joules(text: float | str) -> float:
    """Returns joules of a number or of a text such as "5J", "20 mJ" or "1.5kWh". Raises ValueError."""
    return _parse(text, _native.ENERGY)


def parse_watts(text: float | str) -> float:
    """Returns watts of a number or of a text such as "250W". Raises ValueError."""
    return _parse(text, _native.POWER)
