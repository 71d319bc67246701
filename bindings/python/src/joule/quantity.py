"""A number with its interval, its unit and the class of its evidence."""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Iterable

from ._native import CLASS_NAMES, QuantityStruct, library

__all__ = ["Quantity", "exact", "total", "unknown"]

_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n"), (1e-12, "p"))


def _digits(number: float) -> str:
    """Returns a number between 0.1 and 1000 with three significant digits, without an exponent."""
    if not math.isfinite(number):
        return "inf" if number > 0 else "unknown"
    size = abs(number)
    decimals = 0 if size >= 99.95 or size == 0 else 1 if size >= 9.995 else 2
    return f"{number:.{decimals}f}"


@dataclass(frozen=True)
class Quantity:
    """A value with the interval that contains the true value with 90 % probability.

    `cls` is "measured", "derived", "modelled", "assumed", or "none" if the value is unknown. An unknown value
    is nan, never 0.
    """

    value: float
    low: float
    high: float
    cls: str
    unit: str = "J"

    @classmethod
    def of_struct(cls, struct: QuantityStruct, unit: str = "J") -> Quantity:
        name = CLASS_NAMES[struct.cls] if 0 <= struct.cls < len(CLASS_NAMES) else "unknown"
        return cls(struct.value, struct.low, struct.high, name, unit)

    @property
    def is_known(self) -> bool:
        return not math.isnan(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def times(self, factor: float, unit: str | None = None) -> Quantity:
        """Returns the quantity times a positive number that is known exactly."""
        return Quantity(self.value * factor, self.low * factor, self.high * factor, self.cls, unit or self.unit)

    def inverse(self, numerator: float, unit: str) -> Quantity:
        """Returns numerator / quantity, for example samples per joule. Unknown if the quantity is 0 or
        unknown."""
        if not self.value > 0 or math.isnan(numerator):
            return unknown(unit)
        return Quantity(numerator / self.value, numerator / self.high if self.high > 0 else math.nan,
                        numerator / self.low if self.low > 0 else math.inf, self.cls, unit)

    def probability_below(self, limit: float) -> float:
        """Returns the probability, 0 to 1, that the true value is at most `limit`; nan if it is unknown."""
        cls = CLASS_NAMES.index(self.cls) if self.cls in CLASS_NAMES else 0
        return float(library().joule_probability_below(QuantityStruct(self.value, self.low, self.high, cls, 0), limit))

    def short(self) -> str:
        """Returns the value with its unit, for example "12.3 mJ"."""
        return self._scaled()[0]

    def _scaled(self) -> tuple[str, str, str]:
        if not self.is_known:
            return "unknown", "", ""
        size = max(abs(self.value), abs(self.high) / 1000 if math.isfinite(self.high) else 0.0)
        if self.unit not in ("J", "W", "s"):
            return f"{self.value:.3g} {self.unit}", f"{self.low:.3g}", f"{self.high:.3g}"
        scale, prefix = next(((s, p) for s, p in _PREFIXES if size >= 0.9995 * s), (1.0, ""))
        return (f"{_digits(self.value / scale)} {prefix}{self.unit}", _digits(self.low / scale),
                _digits(self.high / scale))

    def __str__(self) -> str:
        value, low, high = self._scaled()
        return f"{value} ({low} to {high}, {self.cls})" if self.is_known else "unknown"

    def to_dict(self) -> dict[str, Any]:
        """Returns value, low, high (None if unknown), class and unit."""
        numbers = {key: number if math.isfinite(number) else None
                   for key, number in (("value", self.value), ("low", self.low), ("high", self.high))}
        return {**numbers, "class": self.cls, "unit": self.unit}


def unknown(unit: str = "J") -> Quantity:
    return Quantity(math.nan, math.nan, math.nan, "none", unit)


def exact(value: float, unit: str = "J") -> Quantity:
    """Returns a figure that a user gave, such as a limit."""
    return Quantity(value, value, value, "assumed", unit)


def total(quantities: Iterable[Quantity], unit: str = "J") -> Quantity:
    """Returns the sum. Errors are added linearly, because they mostly have a common cause. One unknown term
    makes the sum unknown; its class is the weakest class of the terms."""
    terms = list(quantities)
    if not terms or not all(term.is_known for term in terms):
        return unknown(unit)
    weakest = max(terms, key=lambda term: CLASS_NAMES.index(term.cls) if term.cls in CLASS_NAMES else 99)
    return Quantity(sum(t.value for t in terms), sum(t.low for t in terms), sum(t.high for t in terms), weakest.cls,
                    unit)
