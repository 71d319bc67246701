"""A running measurement of this machine: energy, power, windows, sensors and devices."""
from __future__ import annotations

import math
import os
import time
from ctypes import byref, c_double, c_int64, c_void_p
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterator

from . import _native
from ._native import Domain as DomainStruct
from ._native import QuantityStruct, fail, library, new_sized
from .errors import JouleError
from .quantity import Quantity, total
from .utilisation import GpuWatch

if TYPE_CHECKING:
    from .measurement import Measurement

__all__ = ["Device", "Domain", "Meter", "Window", "current_power_watts", "default_meter", "devices"]

GPU_GAUGES = ("SM activity", "busy time")  # labels, the best first
SUMS = {"total": _native.TOTAL, "cpu": _native.CPU, "gpu": _native.GPU}


@dataclass(frozen=True)
class Domain:
    """A part of the machine whose energy or state a sensor reads. See include/joule/domain.h for the
    members."""

    id: int
    name: str
    label: str
    device: str
    source: str
    vendor: str
    model: str
    scope: str
    reading: int
    state: str
    cls: str
    in_total: bool
    update_period_s: float
    remedy: str

    @property
    def has_energy(self) -> bool:
        return self.reading in (_native.READING_ENERGY, _native.READING_POWER)


@dataclass(frozen=True)
class Window:
    """Energy between two times. `is_final` is False if a sensor has no update after the end yet. `coverage`
    is the part of the window, 0 to 1, that sensors covered."""

    joules: Quantity
    coverage: float
    is_final: bool


@dataclass(frozen=True)
class Device:
    """A processor, memory or accelerator. Unknown figures are nan, None or empty."""

    name: str
    vendor: str
    model: str
    state: str
    joules: Quantity
    watts: Quantity
    remedy: str = ""
    memory_total_bytes: int | None = None
    memory_used_bytes: int | None = None
    busy: float = math.nan
    temperature_celsius: float = math.nan
    power_limit_watts: float = math.nan

    def __str__(self) -> str:
        model = f" ({self.model})" if self.model else ""
        energy = f"{self.watts.short()} {self.watts.cls}" if self.watts.is_known else f"unknown: {self.remedy or self.state}"
        return f"{self.name}{model}: {energy}"


def _text(value: bytes) -> str:
    return value.decode(errors="replace")


def _domain_of(struct: Any) -> Domain:
    cls = _native.CLASS_NAMES[struct.cls] if struct.cls < len(_native.CLASS_NAMES) else "unknown"
    return Domain(struct.id, _text(struct.name), _text(struct.label), _text(struct.device), _text(struct.source),
                  _text(struct.vendor), _text(struct.model),
                  _text(library().joule_scope_name(struct.scope)), struct.reading, _native.status_name(struct.state), cls,
                  bool(struct.in_total), struct.update_period_s, _text(struct.remedy))


class Meter:
    """A meter of this machine, or of a recorded machine in the folder `root`.

    Without a sensor, energies are modelled, and their class says so. Most programs need no meter of their
    own: functions use the default meter. period_s: mean time between readings, 0.001 to 60. wait_s: longest
    wait for slow sources when the meter opens. sources: names of sources, separated by commas. has_devices:
    also read memory and temperature of accelerators. Raises JouleError. Any thread may use a meter. After
    fork, the child must open its own.
    """

    def __init__(self, *, period_s: float = 0.1, wait_s: float = 0.25, sources: str | None = None,
                 root: str | os.PathLike[str] | None = None, has_devices: bool = False,
                 ignore_session: bool = False) -> None:
        self._handle: int | None = None
        self._is_open = False
        self._prepare()
        options = new_sized(_native.Options)
        options.flags = _native.OPEN_DEVICES * has_devices | _native.OPEN_NO_SESSION * ignore_session
        options.period_s, options.wait_s = period_s, wait_s if wait_s > 0 else -1
        options.sources = sources.encode() if sources else None
        options.root = os.fsencode(root) if root is not None else None
        handle, error = c_void_p(), _native.Error()
        status = library().joule_open(byref(options), byref(handle), byref(error))
        if status != _native.OK:
            fail("open the meter", status, error)
        self._handle, self._is_open = handle.value, True

    def _prepare(self) -> None:
        self._gauges: tuple[int, list[list[int]]] = (0, [])  # count of domains, and the result of gpu_gauges
        self.watch = GpuWatch(self)

    @classmethod
    def _default(cls) -> Meter:
        meter = cls.__new__(cls)
        meter._handle, meter._is_open = None, True
        meter._prepare()
        return meter

    @property
    def handle(self) -> int | None:
        """The joule_meter pointer; None is the default meter. Raises JouleError if the meter is closed."""
        if not self._is_open:
            raise JouleError("cannot use the meter: it is closed; read figures before it is closed", "invalid")
        return self._handle

    def close(self) -> None:
        """Stops the meter. Has no effect on the default meter and on a closed meter."""
        if self._is_open and self._handle is not None:
            self._is_open = False
            self.watch.stop()
            library().joule_close(self._handle)

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # the interpreter may be ending
            pass

    def sample(self) -> None:
        """Reads all fast sensors now. Takes a few microseconds for each sensor."""
        status = library().joule_sample_now(self.handle)
        if status != _native.OK:
            fail("read the sensors", status)

    def energy(self, domain: str | int = "total") -> Quantity:
        """Returns the joules since the meter opened, of "total", "cpu", "gpu" or a domain; unknown if no
        sensor tells."""
        return self._read(library().joule_energy_joules, domain, "J")

    def power(self, domain: str | int = "total") -> Quantity:
        """Returns the mean watts over the last readings; unknown if no sensor tells."""
        return self._read(library().joule_power_watts, domain, "W")

    def _read(self, function: Any, domain: str | int, unit: str) -> Quantity:
        struct = QuantityStruct(math.nan, math.nan, math.nan, 0, 0)
        status = function(self.handle, self._id_of(domain), byref(struct))
        if status in (_native.INVALID, _native.STALE) and not (status == _native.STALE and unit == "W"):
            fail(f"read {domain!r}", status)
        return Quantity.of_struct(struct, unit)

    def gauge(self, domain: str | int) -> float:
        """Returns a temperature in degrees Celsius, a clock in megahertz or a ratio 0 to 1; nan if it is
        unknown."""
        value = c_double(math.nan)
        status = library().joule_gauge(self.handle, self._id_of(domain), byref(value))
        if status == _native.INVALID:
            fail(f"read {domain!r}", status)
        return value.value

    def window(self, begin_ns: int, end_ns: int, domain: str | int = "total") -> Window:
        """Returns the joules between two times of time.monotonic_ns(). Neither may be before the meter opened
        or in the future."""
        struct, coverage = QuantityStruct(math.nan, math.nan, math.nan, 0, 0), c_double(math.nan)
        status = library().joule_window_joules(self.handle, self._id_of(domain), begin_ns, end_ns, byref(struct),
                                               byref(coverage))
        if status in (_native.INVALID, _native.STALE):
            fail("measure the window", status, remedy="it begins before the meter was opened, ends before it begins, "
                 "or lies in the future" * (status == _native.INVALID))
        return Window(Quantity.of_struct(struct), coverage.value, status != _native.PENDING)

    def wait(self, begin_ns: int, end_ns: int, domain: str | int = "total", timeout_s: float = 2.0) -> Window:
        """Like window(), but waits at most `timeout_s` until it is final."""
        deadline, pause = time.monotonic() + timeout_s, 0.0005
        while True:
            window = self.window(begin_ns, end_ns, domain)
            if window.is_final or time.monotonic() >= deadline:
                return window
            self.sample()
            time.sleep(pause)
            pause = min(2 * pause, 0.02)

    def ticks(self, after_ns: int = 0, domain: str | int = "total") -> list[int]:
        """Returns the times in ns of time.monotonic_ns() at which a sensor was updated, oldest first."""
        function, handle, identity = library().joule_ticks, self.handle, self._id_of(domain)
        count = function(handle, identity, after_ns, None, 0)
        times = (c_int64 * (count + 16))()
        return list(times[:min(function(handle, identity, after_ns, times, len(times)), len(times))])

    def domains(self) -> list[Domain]:
        """Returns the sensors found so far. Empty if `joule run` measures this process."""
        found = []
        for index in range(library().joule_domain_count(self.handle)):
            struct = new_sized(DomainStruct)
            if library().joule_domain_get(self.handle, index, byref(struct)) == _native.OK:
                found.append(_domain_of(struct))
        return found

    def devices(self) -> list[Device]:
        """Returns the devices with an energy sensor, and those whose sensor this process may not read."""
        described = {_text(d.name): d for d in self._device_structs()}
        energies = [domain for domain in self.domains() if domain.has_energy and domain.device]
        names = dict.fromkeys([domain.device for domain in energies] + list(described))
        return [self._device(name, [d for d in energies if d.device == name], described.get(name)) for name in names]

    def _device(self, name: str, domains: list[Domain], struct: Any) -> Device:
        counted = [domain for domain in domains if domain.in_total]
        best = next(iter(counted or domains), None)
        more: dict[str, Any] = {}
        if struct is not None:
            sizes = {key: getattr(struct, key) for key in ("memory_total_bytes", "memory_used_bytes")}
            more = {key: size if size != _native.BYTES_UNKNOWN else None for key, size in sizes.items()}
            more.update({key: getattr(struct, key) for key in ("busy", "temperature_celsius", "power_limit_watts")})
        return Device(name, _text(struct.vendor) if struct else best.vendor if best else "",
                      _text(struct.model) if struct else best.model if best else "",
                      best.state if best else _native.status_name(struct.state),
                      total(self.energy(domain.id) for domain in counted),
                      total((self.power(domain.id) for domain in counted), "W"), best.remedy if best else "", **more)

    def gpu_gauges(self) -> list[list[int]]:
        """Returns for each GPU the domains that tell how busy it is, the best first: SM activity, busy time."""
        count = library().joule_domain_count(self.handle)
        if count != self._gauges[0]:
            found: dict[str, dict[str, int]] = {}
            for domain in self.domains():
                if domain.device.startswith("gpu:") and domain.label in GPU_GAUGES:
                    found.setdefault(domain.device, {})[domain.label] = domain.id
            self._gauges = (count, [[gauges[label] for label in GPU_GAUGES if label in gauges]
                                    for gauges in found.values()])
        return self._gauges[1]

    def has_pending_devices(self) -> bool:
        """True: an accelerator was found and not read yet."""
        return any(struct.state == _native.PENDING for struct in self._device_structs())

    def _device_structs(self) -> Iterator[Any]:
        for position in range(library().joule_device_count(self.handle)):
            struct = new_sized(_native.Device)
            if library().joule_device_get(self.handle, position, byref(struct)) == _native.OK:
                yield struct

    def _id_of(self, domain: str | int) -> int:
        if isinstance(domain, int):
            return domain
        if domain in SUMS:
            return SUMS[domain]
        for known in self.domains():
            if known.name == domain:
                return known.id
        raise JouleError(f"cannot read {domain!r}: no such domain; `joule devices` lists them", "invalid")

    def measure(self, name: str = "block", **options: Any) -> Measurement:
        """Returns a context manager that measures with this meter; see joule.measure."""
        from .measurement import Measurement
        return Measurement(name, meter=self, **options)


_DEFAULT: list[Meter] = []


def default_meter() -> Meter:
    """Returns the default meter of the process. It takes its options from the environment (JOULE_SOURCES,
    JOULE_ROOT), opens at first use and stops at exit."""
    if not _DEFAULT:
        _DEFAULT.append(Meter._default())
    return _DEFAULT[0]


_is_ready = False  # the default meter is open in this process


def open_default() -> None:
    """Opens the default meter, and waits up to 0.3 s for the second reading of GPUs, because a region that
    begins earlier has no energy of them. Returns at once after the first call of a process."""
    global _is_ready
    if _is_ready:
        return
    _is_ready = True
    meter, deadline = default_meter(), time.monotonic() + 0.3
    meter.sample()
    if any(domain.device.startswith("gpu:") for domain in meter.domains()):
        while not meter.energy("gpu").is_known and time.monotonic() < deadline:
            time.sleep(0.005)


def _forget() -> None:
    """A child after fork has another default meter."""
    global _is_ready
    _is_ready = False


os.register_at_fork(after_in_child=_forget)


def devices() -> list[Device]:
    """Returns the devices of this machine. Opens a meter of its own and waits up to 1 s for slow sensors."""
    with Meter(wait_s=1.0, has_devices=True, sources=os.environ.get("JOULE_SOURCES"),
               root=os.environ.get("JOULE_ROOT")) as meter:
        meter.sample()
        deadline = time.monotonic() + 1.0
        while True:
            time.sleep(0.05)
            meter.sample()
            found = meter.devices()
            is_known = all(device.watts.is_known or device.state not in ("ok", "pending") for device in found)
            if time.monotonic() > deadline or (found and is_known and not meter.has_pending_devices()):
                return found


def current_power_watts() -> float:
    """Returns the machine's power in watts, or nan if it is unknown. The first call takes up to 0.5 s."""
    return float(library().joule_current_power_watts())
