"""Energy of Python programs in joules, with uncertainty and the class of the evidence.

    import joule

    with joule.measure("sort") as m:
        sorted(range(10_000_000))
    print(m)        # sort: 12.3 J (11.8 to 12.9, measured), 24.1 W over 0.51 s

Modules are imported when they are first used, so that `import joule` takes about a millisecond.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .benchmark import EnergyBenchmark as EnergyBenchmark
    from .budgets import Budget as Budget
    from .budgets import budget as budget
    from .errors import BudgetExceeded as BudgetExceeded
    from .errors import JouleError as JouleError
    from .errors import LibraryNotFound as LibraryNotFound
    from .measurement import Measurement as Measurement
    from .measurement import measure as measure
    from .measurement import to_frame as to_frame
    from .meter import Device as Device
    from .meter import Domain as Domain
    from .meter import Meter as Meter
    from .meter import Window as Window
    from .meter import current_power_watts as current_power_watts
    from .meter import default_meter as default_meter
    from .meter import devices as devices
    from .quantity import Quantity as Quantity
    from .regions import Region as Region
    from .regions import begin as begin
    from .regions import end as end
    from .regions import region as region

__version__ = "0.1.0"

_MODULES = {
    "benchmark": ("EnergyBenchmark",),
    "budgets": ("Budget", "budget"),
    "errors": ("BudgetExceeded", "JouleError", "LibraryNotFound"),
    "measurement": ("Measurement", "measure", "to_frame"),
    "meter": ("Device", "Domain", "Meter", "Window", "current_power_watts", "default_meter", "devices"),
    "quantity": ("Quantity",),
    "regions": ("Region", "begin", "end", "region"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Imports the module of a public name at its first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'joule' has no attribute {name!r}")
    import importlib
    value = globals()[name] = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
