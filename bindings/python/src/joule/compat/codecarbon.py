"""EmissionsTracker with the interface of codecarbon (CodeCarbon 3), measured by libjoule.

Differences: energies come from libjoule, their class is in the column `energy_class`, and an unknown figure
is nan or an empty cell, never 0. Carbon intensity is the one that is given, or the mean of a country or of
the world in a small table; it is never requested from a server. Nothing is sent anywhere.
"""
from __future__ import annotations

import csv
import fcntl
import functools
import json
import math
import os
import platform
import shutil
import time
import uuid
import warnings
from collections import OrderedDict
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Callable

from ..carbon import Intensity, intensity_of
from ..measurement import Measurement
from ..meter import Meter
from ..quantity import Quantity, total

__all__ = ["EmissionsData", "EmissionsTracker", "OfflineEmissionsTracker", "track_emissions"]

JOULES_PER_KWH = 3.6e6
# Parameters of CodeCarbon that ask for something that is not done here.
SILENT = {"measure_power_secs", "log_level", "tracking_mode", "allow_multiple_runs", "save_to_logger", "api_call_interval",
          "rapl_include_dram", "rapl_prefer_psys", "logger_preamble", "electricitymaps_api_token", "co2_signal_api_token",
          "metadata", "experiment_name", "force_mode_cpu_load", "gpu_ids", "output_methods"}


@dataclass
class EmissionsData:
    """One row of emissions.csv: energies in kWh, emissions in kg, powers in W, duration in s."""

    timestamp: str
    project_name: str
    run_id: str
    experiment_id: str
    duration: float
    emissions: float
    emissions_rate: float
    cpu_power: float
    gpu_power: float
    ram_power: float
    cpu_energy: float
    gpu_energy: float
    ram_energy: float
    energy_consumed: float
    water_consumed: float
    country_name: str
    country_iso_code: str
    region: str
    cloud_provider: str
    cloud_region: str
    os: str
    python_version: str
    codecarbon_version: str
    cpu_count: float
    cpu_model: str
    gpu_count: float
    gpu_model: str
    longitude: float
    latitude: float
    ram_total_size: float
    tracking_mode: str
    cpu_utilization_percent: float
    gpu_utilization_percent: float
    ram_utilization_percent: float
    ram_used_gb: float
    on_cloud: str
    pue: float
    wue: float
    energy_class: str
    carbon_intensity: float
    carbon_intensity_source: str

    @property
    def values(self) -> OrderedDict[str, Any]:
        return OrderedDict((field.name, getattr(self, field.name)) for field in fields(self))

    def toJSON(self) -> str:
        return json.dumps(self.values, sort_keys=True, indent=4)


class EmissionsTracker:
    """Measures between start() and stop(), or in a `with` block, and appends a row to emissions.csv."""

    def __init__(self, project_name: str = "codecarbon", *, output_dir: str | None = None,
                 output_file: str = "emissions.csv", save_to_file: bool = True, on_csv_write: str = "append",
                 experiment_id: str | None = None, country_iso_code: str | None = None, region: str | None = None,
                 pue: float = 1.0, wue: float = 0.0, force_carbon_intensity_g_co2e_kwh: float | None = None,
                 output_handlers: Any = None, meter: Meter | None = None, **others: Any) -> None:
        unused = sorted(name for name, value in others.items() if name not in SILENT and value)
        if unused:
            warnings.warn(f"joule.compat.codecarbon ignores {', '.join(unused)}", stacklevel=2)
        if on_csv_write not in ("append", "update"):
            raise ValueError(f"Unknown `on_csv_write` value: {on_csv_write} (should be 'append' or 'update')")
        self.project_name, self.run_id = project_name, uuid.uuid4()
        self._experiment_id = experiment_id or ""
        self._folder = output_dir if output_dir is not None else "."
        self._path = os.path.join(self._folder, output_file) if save_to_file else None
        if self._path and not os.path.isdir(self._folder):
            raise OSError(f"Folder '{output_dir}' doesn't exist !")
        self._is_updated = on_csv_write == "update"
        self._pue, self._wue, self._region = pue, wue, region or ""
        self._intensity: Intensity = intensity_of(country_iso_code, force_carbon_intensity_g_co2e_kwh)
        self._handlers = list(output_handlers or [])
        self._meter = meter
        self._whole: Measurement | None = None
        self._tasks: dict[str, Measurement] = {}
        self.final_emissions: float | None = None
        self.final_emissions_data: EmissionsData | None = None

    # --- the whole run ---

    def start(self) -> None:
        if self._whole is None:
            self._whole = Measurement(self.project_name, meter=self._meter)
            self._whole.begin()

    def stop(self) -> float | None:
        """Returns kg of CO2 equivalent, nan if the energy is unknown, or None if the tracker never
        started."""
        if self._whole is None:
            warnings.warn("the tracker is not running", stacklevel=2)
            return self.final_emissions
        for name in list(self._tasks):
            self.stop_task(name)
        whole, self._whole = self._whole, None
        whole.end()
        data = self._data_of(whole)
        self.final_emissions_data, self.final_emissions = data, data.emissions
        if self._path:
            self._save(self._path, data)
        for handler in self._handlers:
            handler.out(data, data)
        return data.emissions

    def flush(self) -> float | None:
        """Returns kg of CO2 equivalent so far, or None if the tracker is not running."""
        if self._whole is None:
            return None
        whole = self._whole
        whole.meter.sample()
        joules = whole.meter.window(whole.begin_ns, time.monotonic_ns()).joules
        return joules.value * self._pue / JOULES_PER_KWH * self._intensity.grams_per_kwh / 1e3

    def __enter__(self) -> EmissionsTracker:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # --- tasks ---

    def start_task(self, task_name: str | None = None) -> None:
        name = task_name or uuid.uuid4().hex
        if name in self._tasks:
            warnings.warn(f"the task {name} is running already", stacklevel=2)
            return
        self.start()
        self._tasks[name] = Measurement(name, meter=self._meter)
        self._tasks[name].begin()

    def stop_task(self, task_name: str | None = None) -> EmissionsData | None:
        """Returns the figures of a task, by default of the one that began last; None if it is not running."""
        name = task_name or next(reversed(self._tasks), "")
        if name not in self._tasks:
            warnings.warn("no such task is running", stacklevel=2)
            return None
        task = self._tasks.pop(name)
        task.end()
        return self._data_of(task)

    # --- figures ---

    def _data_of(self, measurement: Measurement) -> EmissionsData:
        devices = measurement.devices
        kinds = {kind: _sum_of(devices, kind) for kind in ("cpu", "gpu", "memory")}
        joules = measurement.joules
        seconds, kwh = measurement.seconds, joules.value * self._pue / JOULES_PER_KWH
        emissions = kwh * self._intensity.grams_per_kwh / 1e3
        gpus = [name for name in devices if name.startswith("gpu:")]
        models = {domain.device: domain.model for domain in measurement.meter.domains()}
        unknown = math.nan

        def power(kind: str) -> float:
            return kinds[kind].value * self._pue / seconds if seconds > 0 else unknown

        def energy(kind: str) -> float:
            return kinds[kind].value * self._pue / JOULES_PER_KWH
        return EmissionsData(
            timestamp=datetime.now().strftime("%Y-%m-%dT%H:%M:%S"), project_name=self.project_name,
            run_id=str(self.run_id), experiment_id=self._experiment_id, duration=seconds, emissions=emissions,
            emissions_rate=emissions / seconds if seconds > 0 else unknown, cpu_power=power("cpu"),
            gpu_power=power("gpu"), ram_power=power("memory"), cpu_energy=energy("cpu"), gpu_energy=energy("gpu"),
            ram_energy=energy("memory"), energy_consumed=kwh, water_consumed=kwh * self._wue,
            country_name=self._intensity.country_name, country_iso_code=self._intensity.country_code,
            region=self._region, cloud_provider="", cloud_region="", os=platform.platform(),
            python_version=platform.python_version(), codecarbon_version="joule", cpu_count=float(os.cpu_count() or 0),
            cpu_model=models.get("cpu:0", ""), gpu_count=float(len(gpus)), gpu_model=models.get("gpu:0", ""),
            longitude=unknown, latitude=unknown, ram_total_size=_memory_gb(), tracking_mode="machine",
            cpu_utilization_percent=100 * measurement.cpu_utilisation,
            gpu_utilization_percent=100 * measurement.gpu_utilisation, ram_utilization_percent=unknown,
            ram_used_gb=unknown, on_cloud="N", pue=self._pue, wue=self._wue, energy_class=joules.cls,
            carbon_intensity=self._intensity.grams_per_kwh, carbon_intensity_source=self._intensity.source)

    def _save(self, path: str, data: EmissionsData) -> None:
        """Appends the row, or replaces the row of the same run. A file with other columns is kept as
        NAME.bak."""
        row = {name: "" if isinstance(value, float) and math.isnan(value) else value
               for name, value in data.values.items()}
        with open(path, "a+", newline="", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # other threads and processes may write the same file
            file.seek(0)
            reader = csv.DictReader(file)
            is_other = bool(reader.fieldnames) and list(reader.fieldnames or []) != list(row)
            rows = [] if is_other else [old for old in reader if not self._is_updated or old["run_id"] != row["run_id"]]
            if is_other:
                shutil.copyfile(path, path + ".bak")
            file.truncate(0)
            writer = csv.DictWriter(file, list(row))
            writer.writeheader()
            writer.writerows([*rows, row])


class OfflineEmissionsTracker(EmissionsTracker):
    """The same: no tracker of this module uses a network. country_iso_code: three letters, such as "FRA"."""


def track_emissions(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Decorates a function: each call is tracked. Options are those of EmissionsTracker; `offline` has no
    effect."""
    options.pop("offline", None)
    if fn is None:
        return functools.partial(track_emissions, **options)

    @functools.wraps(fn)
    def tracked(*args: Any, **kwargs: Any) -> Any:
        with EmissionsTracker(**options):
            return fn(*args, **kwargs)
    return tracked


def _sum_of(devices: dict[str, Quantity], kind: str) -> Quantity:
    return total(joules for name, joules in devices.items() if name.startswith(kind + ":"))


def _memory_gb() -> float:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (OSError, ValueError):
        return math.nan
