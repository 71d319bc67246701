"""Cheap edges: joule.region() marks a part of the program whose energy is computed later.

A region writes two timestamps into libjoule's memory. It reads no sensor, so it may run a million times a
second.
"""
from __future__ import annotations

import threading
from ctypes import byref, c_void_p, cast
from typing import TYPE_CHECKING, Any

from . import _native, _sync
from ._native import fail, library, new_sized, tag_of
from .measurement import FLAGS, PATIENCE_S
from .meter import default_meter, open_default
from .quantity import Quantity

__all__ = ["Region", "RegionResult", "begin", "end", "region"]


class RegionResult:
    """Energy of one region or of all blocks with one name.

    window_joules: energy of the claimed devices during the region. joules: the region's share of it, if
    several threads have regions. self_joules: `joules` without the regions nested in it.
    """

    def __init__(self, result: Any) -> None:
        self.count = int(result.count)
        self.seconds = float(result.duration_s)
        self.coverage = float(result.coverage)
        self.is_final = bool(result.is_final)
        self.is_synchronised = not result.unsynchronised
        self.window_joules = Quantity.of_struct(result.window)
        self.joules = Quantity.of_struct(result.attributed)
        self.self_joules = Quantity.of_struct(result.self)
        self.cpu_joules = Quantity.of_struct(result.cpu)
        self.gpu_joules = Quantity.of_struct(result.gpu)

    def __str__(self) -> str:
        joules = self.joules if self.joules.is_known else self.window_joules
        return f"{joules}, {self.count} x, {self.seconds:.3g} s"


class _PythonEdges:
    """The same as Edges of _edges.c, in Python."""

    def __init__(self, tag: int, flags: int) -> None:
        self._tag, self._flags = tag, flags
        self._begin, self._end = library().joule_begin_with, library().joule_end
        self._open = threading.local()

    def __enter__(self) -> Any:
        region = self._begin(self._tag, self._flags)
        try:
            self._open.regions.append(region)
        except AttributeError:
            self._open.regions = [region]
        return self

    def __exit__(self, *_: object) -> None:
        regions = getattr(self._open, "regions", None)
        if not regions:
            raise RuntimeError("cannot end the region: this thread has not begun it")
        self._end(byref(regions.pop()))


def _edges_class() -> Any:
    """Returns the class of the edges: compiled if the package has it."""
    try:
        from . import _edges  # type: ignore[attr-defined,unused-ignore]
    except ImportError:
        return _PythonEdges
    addresses = (cast(getattr(library(), name), c_void_p).value for name in ("joule_begin_with", "joule_end"))
    _edges.connect(*addresses)
    return _edges.Edges


if TYPE_CHECKING:
    _Edges = _PythonEdges
else:
    _Edges = _edges_class()


class Region(_Edges):
    """A named region: create it once, then use `with` as often as you like, also nested and in several
    threads. In one thread the last block that began ends first, so coroutines that overlap need begin() and
    end()."""

    def __init__(self, name: str, devices: str = "all") -> None:
        if devices not in FLAGS:
            raise ValueError(f"devices is {devices!r}, but must be one of {', '.join(FLAGS)}")
        open_default()
        if devices == "gpu":
            _sync.synchronise()
        self.name = name
        self._tag = tag_of(name)
        super().__init__(self._tag, FLAGS[devices])

    def result(self) -> RegionResult:
        """Returns the energy of all blocks with this name so far. Raises JouleError if there is none, or if
        `joule run` measures this process and so reports it."""
        result = new_sized(_native.Result)
        library().joule_sample_now(None)
        status = library().joule_tag_result(None, self._tag, byref(result))
        if status not in (_native.OK, _native.PENDING) and not result.count:
            remedies = {_native.ABSENT: "no block of the region has ended yet, or no reading has followed it",
                        _native.UNSUPPORTED: "`joule run` measures this process, and its report contains the region"}
            fail(f"read the region {self.name!r}", status, remedy=remedies.get(status, ""))
        return RegionResult(result)

    def __repr__(self) -> str:
        return f"<joule.Region {self.name!r}>"


def region(name: str, devices: str = "all") -> Region:
    """Returns a region. devices: "all", "cpu" or "gpu"; a region of "gpu" waits for the GPU at both edges if
    PyTorch uses one."""
    return Region(name, devices)


class OpenRegion:
    """One region between begin() and end(). It may end in another thread."""

    __slots__ = ("_struct",)

    def __init__(self, tag: int, flags: int) -> None:
        self._struct = library().joule_begin_with(tag, flags)

    def end(self) -> None:
        status = library().joule_end(byref(self._struct))
        if status != _native.OK:
            fail("end the region", status, remedy="it has ended already" * (status == _native.INVALID))

    def result(self, timeout_s: float = PATIENCE_S) -> RegionResult:
        """Returns the energy of the ended region. Waits at most `timeout_s` for its final figures."""
        result = new_sized(_native.Result)
        status = library().joule_region_wait(default_meter().handle, byref(self._struct), timeout_s, byref(result))
        if status in (_native.INVALID, _native.STALE):
            fail("read the region", status)
        return RegionResult(result)


def begin(name: str, devices: str = "all") -> OpenRegion:
    """Begins a region and returns it; end() ends it."""
    open_default()
    return OpenRegion(tag_of(name), FLAGS[devices])


def end(region: OpenRegion) -> None:
    """Ends a region that begin() returned."""
    region.end()
