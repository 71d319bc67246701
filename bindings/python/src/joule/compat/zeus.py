"""ZeusMonitor with the interface of zeus.monitor (Zeus 0.16), measured by libjoule.

Differences: energy is computed when it is read, so an edge of a window waits for no sensor. Unknown energy is
nan, and never 0: `total_energy`, which is the energy of the GPUs alone, is nan on a machine without a GPU.
`machine` is the energy of the whole machine with its interval.
"""
from __future__ import annotations

import os
import sys
import time
from functools import cached_property
from typing import Any, Iterable

from .. import _sync
from ..meter import Domain, Meter, default_meter
from ..quantity import Quantity

__all__ = ["Measurement", "ZeusMonitor"]


class Measurement:
    """Time in seconds, and joules of each GPU, package and memory by index. A kind without a sensor is
    None."""

    def __init__(self, monitor: ZeusMonitor, begin_ns: int, end_ns: int) -> None:
        self._monitor, self._begin_ns, self._end_ns = monitor, begin_ns, end_ns
        self.time = (end_ns - begin_ns) / 1e9
        self.soc_energy = None

    @cached_property
    def gpu_energy(self) -> dict[int, float]:
        return self._energies(self._monitor.gpus, "gpu")

    @cached_property
    def cpu_energy(self) -> dict[int, float] | None:
        return self._energies(self._monitor.cpus, "package") or None

    @cached_property
    def dram_energy(self) -> dict[int, float] | None:
        return self._energies(self._monitor.memories, "dram") or None

    @cached_property
    def total_energy(self) -> float:
        """Joules of the GPUs."""
        return sum(self.gpu_energy.values()) if self.gpu_energy else float("nan")

    @cached_property
    def machine(self) -> Quantity:
        """Joules of the whole machine."""
        return self._quantity("total")

    def _energies(self, devices: dict[int, str], scope: str) -> dict[int, float]:
        domains = self._monitor.meter.domains()
        return {index: self._quantity(_domain_of(domains, device, scope)).value for index, device in devices.items()}

    def _quantity(self, domain: int | str) -> Quantity:
        return self._monitor.meter.wait(self._begin_ns, self._end_ns, domain).joules

    def __repr__(self) -> str:
        return (f"Measurement(time={self.time!r}, gpu_energy={self.gpu_energy!r}, cpu_energy={self.cpu_energy!r}, "
                f"dram_energy={self.dram_energy!r}, soc_energy=None)")


class ZeusMonitor:
    """Windows with names. gpu_indices and cpu_indices choose devices; None: all. GPUs are numbered by PCI
    address, after CUDA_VISIBLE_DEVICES. approx_instant_energy has no effect, because libjoule interpolates
    between readings. sync_execution_with: "torch", "jax" or "cupy"; it is used only if the program has
    imported it."""

    def __init__(self, gpu_indices: list[int] | None = None, cpu_indices: list[int] | None = None,
                 approx_instant_energy: bool = False, log_file: str | os.PathLike[str] | None = None,
                 sync_execution_with: str = "torch", *, meter: Meter | None = None) -> None:
        self.approx_instant_energy = approx_instant_energy
        self.sync_with = sync_execution_with
        self.meter = meter if meter is not None else default_meter()
        self.meter.sample()
        domains = self.meter.domains()
        self.gpus = _choose(gpu_indices, _devices_of(domains, "gpu"), "GPU")
        self.cpus = _choose(cpu_indices, _devices_of(domains, "package"), "CPU")
        self.memories = _choose(None, _devices_of(domains, "dram"), "memory")
        self.gpu_indices, self.cpu_indices = list(self.gpus), list(self.cpus)
        self._begins: dict[str, int] = {}
        self.log_file: Any = None
        if log_file is not None:
            os.makedirs(os.path.dirname(os.path.abspath(log_file)), exist_ok=True)
            self.log_file = open(log_file, "w", encoding="utf-8", buffering=1)
            columns = ["start_time", "window_name", "elapsed_time", *(f"gpu{i}_energy" for i in self.gpu_indices)]
            print(*columns, sep=",", file=self.log_file)

    def begin_window(self, key: str, sync_execution: bool = True, restart: bool = False) -> None:
        if key in self._begins and not restart:
            raise ValueError(f"Measurement window '{key}' already exists")
        self._synchronise(sync_execution)
        self.meter.sample()
        self._begins[key] = time.monotonic_ns()

    def end_window(self, key: str, sync_execution: bool = True, cancel: bool = False) -> Measurement:
        if key not in self._begins:
            raise ValueError(f"Measurement window '{key}' does not exist")
        self._synchronise(sync_execution)
        begin, end = self._begins.pop(key), time.monotonic_ns()
        self.meter.sample()
        if cancel:
            return _cancelled(self)
        measurement = Measurement(self, begin, end)
        if self.log_file is not None:
            row = [time.time() - measurement.time, key, measurement.time, *measurement.gpu_energy.values()]
            print(*row, sep=",", file=self.log_file)
        return measurement

    def _synchronise(self, is_wanted: bool) -> None:
        if not is_wanted or self.sync_with not in sys.modules:
            return
        module = sys.modules[self.sync_with]
        if self.sync_with == "torch":
            _sync.synchronise()
        elif self.sync_with == "jax":
            module.block_until_ready([module.device_put(0.0, device=device) + 0 for device in module.devices()])
        elif self.sync_with == "cupy":
            for index in self.gpu_indices:
                module.cuda.Device(index).synchronize()


def _cancelled(monitor: ZeusMonitor) -> Measurement:
    """Returns the empty measurement that Zeus returns for a cancelled window: zero length, so zero joules."""
    measurement = Measurement(monitor, 0, 0)
    measurement.gpu_energy = dict.fromkeys(monitor.gpu_indices, 0.0)
    measurement.cpu_energy = dict.fromkeys(monitor.cpu_indices, 0.0)
    measurement.dram_energy = None
    return measurement


def _devices_of(domains: Iterable[Domain], scope: str) -> list[str]:
    """Returns the names of devices that have a sensor of this scope."""
    names = {domain.device for domain in domains if domain.scope == scope and domain.has_energy and domain.device}
    return sorted(names, key=lambda name: int(name.rpartition(":")[2] or 0) if name[-1].isdigit() else 0)


def _domain_of(domains: Iterable[Domain], device: str, scope: str) -> int:
    """Returns the domain that measures a device: the one in the machine's total, else a counter, else a power
    sensor."""
    fitting = [domain for domain in domains if domain.device == device and domain.scope == scope and domain.has_energy]
    return min(fitting, key=lambda domain: (not domain.in_total, domain.reading)).id


def _choose(indices: list[int] | None, devices: list[str], kind: str) -> dict[int, str]:
    """Returns {index: name} of the chosen devices."""
    if indices is None:
        return dict(enumerate(devices))
    absent = [index for index in indices if not 0 <= index < len(devices)]
    if absent:
        raise ValueError(f"no sensor measures {kind} {absent[0]}: there are {len(devices)}; run `joule devices`")
    return {index: devices[index] for index in indices}
