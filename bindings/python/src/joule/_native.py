"""The public interface of libjoule in ctypes: structures, functions and the search for the library.

The structures repeat include/joule/*.h. A structure of a newer library may be longer; struct_size tells the
library how much this file knows.
"""
from __future__ import annotations

import ctypes
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint32,
                    c_uint64, c_void_p)
from functools import lru_cache
from typing import Any, NoReturn

from .errors import JouleError, LibraryNotFound

OK, ABSENT, DENIED, UNSUPPORTED, FAILED, STALE, PENDING, INVALID, NO_MEMORY = range(9)
STATUS_NAMES = ("ok", "absent", "denied", "unsupported", "failed", "stale", "pending", "invalid", "no memory")

TOTAL, CPU, GPU = -1, -2, -3
REGION_CPU, REGION_GPU = 1, 2
OPEN_NO_SESSION, OPEN_DEVICES = 1, 2
BUDGET_STOP = 1
READING_ENERGY, READING_POWER, READING_UTILISATION = 1, 2, 5
BYTES_UNKNOWN = 2**64 - 1

CLASS_NAMES = ("none", "measured", "derived", "modelled", "assumed")
ENERGY, POWER, TIME = 1, 2, 3  # joule_dimension


class Error(Structure):
    _fields_ = [("status", c_int32), ("message", c_char * 508)]


class QuantityStruct(Structure):
    _fields_ = [("value", c_double), ("low", c_double), ("high", c_double), ("cls", c_int32), ("reserved", c_uint32)]


class Region(Structure):
    _fields_ = [("begin_ns", c_uint64), ("end_ns", c_uint64), ("tag", c_uint32), ("flags", c_uint32),
                ("slot", c_uint32), ("owner", c_uint32)]


class Result(Structure):
    _fields_ = [("struct_size", c_uint32), ("is_final", c_uint32), ("count", c_uint64), ("folded", c_uint64),
                ("duration_s", c_double), ("coverage", c_double), ("window", QuantityStruct),
                ("attributed", QuantityStruct), ("self", QuantityStruct), ("cpu", QuantityStruct),
                ("gpu", QuantityStruct), ("unsynchronised", c_uint32), ("reserved", c_uint32 * 7)]


class Options(Structure):
    _fields_ = [("struct_size", c_uint32), ("flags", c_uint32), ("period_s", c_double), ("wait_s", c_double),
                ("sources", c_char_p), ("root", c_char_p)]


class Domain(Structure):
    _fields_ = [("struct_size", c_uint32), ("id", c_int32), ("parent", c_int32), ("scope", c_int32),
                ("reading", c_int32), ("state", c_int32), ("cls", c_int32), ("in_total", c_uint32),
                ("tier", c_uint32), ("device_index", c_int32), ("update_period_s", c_double), ("name", c_char * 48),
                ("label", c_char * 64), ("device", c_char * 16), ("source", c_char * 24),
                ("measurement", c_char * 24), ("vendor", c_char * 24), ("model", c_char * 96), ("uuid", c_char * 64),
                ("remedy", c_char * 192)]


class Device(Structure):
    _fields_ = [("struct_size", c_uint32), ("index", c_int32), ("state", c_int32), ("clock_reasons", c_uint32),
                ("name", c_char * 16), ("vendor", c_char * 24), ("model", c_char * 96), ("architecture", c_char * 32),
                ("compute_capability", c_char * 16), ("uuid", c_char * 64), ("pci_address", c_char * 16),
                ("driver", c_char * 80), ("memory_total_bytes", c_uint64), ("memory_used_bytes", c_uint64),
                ("memory_free_bytes", c_uint64), ("busy", c_double), ("memory_busy", c_double),
                ("temperature_celsius", c_double), ("memory_temperature_celsius", c_double),
                ("clock_megahertz", c_double), ("memory_clock_megahertz", c_double), ("power_limit_watts", c_double),
                ("power_limit_default_watts", c_double), ("power_limit_enforced_watts", c_double),
                ("power_limit_min_watts", c_double), ("power_limit_max_watts", c_double),
                ("power_watts", QuantityStruct), ("energy_joules", QuantityStruct), ("domain", c_int32),
                ("process_count", c_uint32), ("has_process_list", c_uint32), ("partition_count", c_uint32),
                ("age_s", c_double), ("fan_rpm", c_double), ("fan_ratio", c_double), ("encoder_busy", c_double),
                ("decoder_busy", c_double), ("pcie_receive_bytes_per_second", c_double),
                ("pcie_transmit_bytes_per_second", c_double), ("pcie_replays", c_double), ("ecc_corrected", c_double),
                ("ecc_uncorrected", c_double), ("ecc_corrected_lifetime", c_double),
                ("ecc_uncorrected_lifetime", c_double), ("xid_count", c_double), ("last_xid", c_double),
                ("remedy", c_char * 192)]


class BudgetOptions(Structure):
    _fields_ = [("struct_size", c_uint32), ("flags", c_uint32), ("domain", c_int32), ("tag", c_uint32),
                ("max_joules", c_double), ("max_watts", c_double), ("max_temperature_rise_kelvin", c_double),
                ("notify", c_void_p), ("context", c_void_p)]


class BudgetResult(Structure):
    _fields_ = [("struct_size", c_uint32), ("status", c_int32), ("joules", QuantityStruct), ("probability", c_double),
                ("peak_watts", c_double), ("temperature_rise_kelvin", c_double), ("overshoot_bound_joules", c_double)]


BudgetCallback = CFUNCTYPE(None, c_void_p, c_int32, c_void_p)
SyncCallback = CFUNCTYPE(None, c_void_p)

_ERROR, _QUANTITY, _RESULT = POINTER(Error), POINTER(QuantityStruct), POINTER(Result)
_PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "joule_version": (c_char_p, ()),
    "joule_open": (c_int32, (POINTER(Options), POINTER(c_void_p), _ERROR)),
    "joule_close": (None, (c_void_p,)),
    "joule_sample_now": (c_int32, (c_void_p,)),
    "joule_domain_count": (c_size_t, (c_void_p,)),
    "joule_domain_get": (c_int32, (c_void_p, c_size_t, POINTER(Domain))),
    "joule_energy_joules": (c_int32, (c_void_p, c_int32, _QUANTITY)),
    "joule_window_joules": (c_int32, (c_void_p, c_int32, c_int64, c_int64, _QUANTITY, POINTER(c_double))),
    "joule_ticks": (c_size_t, (c_void_p, c_int32, c_int64, POINTER(c_int64), c_size_t)),
    "joule_power_watts": (c_int32, (c_void_p, c_int32, _QUANTITY)),
    "joule_gauge": (c_int32, (c_void_p, c_int32, POINTER(c_double))),
    "joule_scope_name": (c_char_p, (c_int32,)),
    "joule_current_power_watts": (c_double, ()),
    "joule_device_count": (c_size_t, (c_void_p,)),
    "joule_device_get": (c_int32, (c_void_p, c_size_t, POINTER(Device))),
    "joule_tag": (c_uint32, (c_char_p,)),
    "joule_begin": (Region, (c_uint32,)),
    "joule_begin_with": (Region, (c_uint32, c_uint32)),
    "joule_end": (c_int32, (c_void_p,)),
    "joule_region_result": (c_int32, (c_void_p, POINTER(Region), _RESULT)),
    "joule_region_wait": (c_int32, (c_void_p, POINTER(Region), c_double, _RESULT)),
    "joule_tag_result": (c_int32, (c_void_p, c_uint32, _RESULT)),
    "joule_set_sync": (None, (c_void_p, c_void_p)),
    "joule_budget_begin": (c_int32, (c_void_p, POINTER(BudgetOptions), POINTER(c_void_p), _ERROR)),
    "joule_budget_now": (c_int32, (c_void_p, POINTER(BudgetResult))),
    "joule_budget_end": (c_int32, (c_void_p, POINTER(BudgetResult))),
    "joule_budget_status_name": (c_char_p, (c_int32,)),
    "joule_probability_below": (c_double, (QuantityStruct, c_double)),
    "joule_parse": (c_int32, (c_char_p, c_int32, POINTER(c_double), _ERROR)),
    "joule_report_json": (c_int32, (c_void_p, c_char_p, c_char_p, c_size_t, POINTER(c_size_t))),
}


def _candidates() -> list[str]:
    """Returns where the library may be: the variable JOULE_LIBRARY alone, else the package, else the
    system."""
    chosen = os.environ.get("JOULE_LIBRARY")
    if chosen:
        return [chosen]
    bundled = os.path.join(os.path.dirname(__file__), "libjoule.so.0")
    return [bundled] * os.path.exists(bundled) + ["libjoule.so.0"]


@lru_cache(maxsize=None)
def library() -> Any:
    """Returns libjoule with the types of its functions. Raises LibraryNotFound."""
    reasons = []
    for path in _candidates():
        try:
            loaded = ctypes.CDLL(path)
            for name, (result, arguments) in _PROTOTYPES.items():
                function = getattr(loaded, name)
                function.restype, function.argtypes = result, arguments
            return loaded
        except (OSError, AttributeError) as error:
            reasons.append(str(error))
    raise LibraryNotFound(f"cannot load libjoule: {'; '.join(reasons)}; install the package joule-energy, or set "
                          "JOULE_LIBRARY to the path of libjoule.so.0", "absent")


@lru_cache(maxsize=4096)
def tag_of(name: str) -> int:
    """Returns libjoule's number of a region's name, which is the same in all threads and children."""
    return int(library().joule_tag(name.encode()))


def new_sized(structure: Any) -> Any:
    """Returns a structure of zeros whose struct_size is set."""
    return structure(struct_size=ctypes.sizeof(structure))


def status_name(status: int) -> str:
    return STATUS_NAMES[status] if 0 <= status < len(STATUS_NAMES) else "unknown"


def fail(what: str, status: int, error: Error | None = None, remedy: str = "") -> NoReturn:
    """Raises a JouleError with libjoule's own message if there is one."""
    text = error.message.decode(errors="replace") if error is not None else ""
    reason = remedy or {STALE: "the meter was opened before fork; open a new one in this process"}.get(
        status, status_name(status))
    raise JouleError(text or f"cannot {what}: {reason}", status_name(status))
