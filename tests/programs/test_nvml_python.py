#!/usr/bin/env python3
"""Checks that NVIDIA's own Python package, unmodified, works with the fake libnvidia-ml.so.1.

The package was written for the real library. If it works here, the fake, and the header from which both were
compiled, have the real interface. The package is installed into a virtual environment below the build folder;
if that fails, the test is skipped.
"""
import os
import subprocess
import sys
import time

from run_support import skip

BUILD = os.environ.get("JOULE_BUILD", "build/release")
FAKES = os.path.join(os.path.abspath(BUILD), "tests", "fakes", "nvml", "580")
PLACE = os.path.join(os.path.abspath(BUILD), "tests", "nvidia-ml-py")
SCRIPT = "boards=2; watts=90; peak_watts=400; duty=0.5; period_ms=100; processes=3; 1.mig=2; 1.energy=0"


def python_with_package():
    python = os.path.join(PLACE, "bin", "python3")
    try:
        if not os.path.exists(python):
            subprocess.run([sys.executable, "-m", "venv", PLACE], check=True, capture_output=True, timeout=60)
        if subprocess.run([python, "-c", "import pynvml"], capture_output=True, timeout=30).returncode != 0:
            subprocess.run([python, "-m", "pip", "install", "--quiet", "--timeout", "15", "--retries", "1",
                            "nvidia-ml-py>=12.535"], check=True, capture_output=True, timeout=120)
    except (subprocess.SubprocessError, OSError) as error:
        skip(f"nvidia-ml-py cannot be had: {error}")
    return python


def near(value, expected, tolerance):
    assert abs(value - expected) <= tolerance, f"{value} is not within {tolerance} of {expected}"


def check_identity(nvml, board):
    assert nvml.nvmlDeviceGetName(board) == "NVIDIA Fake H200"
    assert nvml.nvmlDeviceGetUUID(board) == "GPU-5eed0000-0000-4000-8000-000000000000"
    assert nvml.nvmlDeviceGetPciInfo(board).busId == "00000000:65:00.0"
    assert nvml.nvmlDeviceGetCudaComputeCapability(board) == (9, 0)
    assert nvml.nvmlSystemGetDriverVersion() == "580.00.00"
    assert nvml.nvmlDeviceGetIndex(nvml.nvmlDeviceGetHandleByUUID(nvml.nvmlDeviceGetUUID(board))) == 0


def check_energy(nvml, board):
    """Checks the counter for calls of any duration. Its increase lies between the energies of the inner and
    the outer period."""
    stamps, counts = [], []
    for pause in (1, 0):
        stamps.append(time.monotonic())
        counts.append(nvml.nvmlDeviceGetTotalEnergyConsumption(board) / 1e3)
        stamps.append(time.monotonic())
        time.sleep(pause)
    slack = 0.12 * 400  # joules in one period of the load and one update of the counter
    used = counts[1] - counts[0]
    assert 245 * (stamps[2] - stamps[1]) - slack <= used <= 245 * (stamps[3] - stamps[0]) + slack, used
    near(nvml.nvmlDeviceGetPowerUsage(board), 245000, 10000)  # the mean power of the last second, in mW


def check_fields(nvml, board):
    fields = nvml.nvmlDeviceGetFieldValues(board, [
        nvml.NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION, (nvml.NVML_FI_DEV_POWER_AVERAGE, 0),
        (nvml.NVML_FI_DEV_POWER_AVERAGE, nvml.NVML_POWER_SCOPE_MEMORY), (nvml.NVML_FI_DEV_POWER_INSTANT, 0), 9999])
    energy, average, memory, instant, unknown = fields
    assert energy.nvmlReturn == 0 and energy.valueType == nvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG
    assert 0 < energy.value.ullVal <= nvml.nvmlDeviceGetTotalEnergyConsumption(board)
    near(average.value.uiVal, 245000, 10000)
    near(memory.value.uiVal, 25000, 0)
    assert 80000 <= instant.value.uiVal <= 401000
    assert unknown.nvmlReturn != 0
    near(instant.timestamp / 1e6, time.time(), 5)


def check_samples(nvml, board):
    kind, samples = nvml.nvmlDeviceGetSamples(board, nvml.NVML_TOTAL_POWER_SAMPLES, 0)
    assert kind == nvml.NVML_VALUE_TYPE_UNSIGNED_INT and len(samples) == 120
    assert all(b.timeStamp - a.timeStamp in range(19990, 20011) for a, b in zip(samples, samples[1:]))
    near(sum(s.sampleValue.uiVal for s in samples) / len(samples), 245000, 10000)
    _, newer = nvml.nvmlDeviceGetSamples(board, nvml.NVML_TOTAL_POWER_SAMPLES, samples[-3].timeStamp)
    assert newer[0].timeStamp > samples[-3].timeStamp


def check_state(nvml, board):
    memory = nvml.nvmlDeviceGetMemoryInfo(board, version=nvml.nvmlMemory_v2)
    assert memory.total == 143771 << 20 and memory.used == 1024 << 20 and memory.reserved == 600 << 20
    assert nvml.nvmlDeviceGetMemoryInfo(board).used == 1624 << 20
    processes = nvml.nvmlDeviceGetComputeRunningProcesses(board)
    assert [p.pid for p in processes] == [1000, 1001, 1002]
    assert all(p.usedGpuMemory == 1024 << 20 for p in processes)
    assert nvml.nvmlDeviceGetUtilizationRates(board).gpu == 50
    assert nvml.nvmlDeviceGetTemperature(board, nvml.NVML_TEMPERATURE_GPU) == 41
    assert nvml.nvmlDeviceGetTemperatureV(board, nvml.NVML_TEMPERATURE_GPU) == 41
    assert nvml.nvmlDeviceGetClockInfo(board, nvml.NVML_CLOCK_MEM) == 3201
    assert nvml.nvmlDeviceGetPowerManagementLimitConstraints(board) == [200000, 700000]
    assert nvml.nvmlDeviceGetCurrentClocksEventReasons(board) in (1, 4)


def check_activity(nvml, board):
    assert nvml.nvmlGpmQueryDeviceSupport(board).isSupportedDevice == 1
    before, after = nvml.nvmlGpmSampleAlloc(), nvml.nvmlGpmSampleAlloc()
    nvml.nvmlGpmSampleGet(board, before)
    time.sleep(0.5)
    nvml.nvmlGpmSampleGet(board, after)
    metrics = nvml.c_nvmlGpmMetricsGet_t()
    metrics.version, metrics.numMetrics = nvml.NVML_GPM_METRICS_GET_VERSION, 2
    metrics.sample1, metrics.sample2 = before, after
    metrics.metrics[0].metricId = nvml.NVML_GPM_METRIC_SM_UTIL
    metrics.metrics[1].metricId = nvml.NVML_GPM_METRIC_DRAM_BW_UTIL
    nvml.nvmlGpmMetricsGet(metrics)
    near(metrics.metrics[0].value, 50, 15)
    near(metrics.metrics[1].value, metrics.metrics[0].value / 4, 0.01)
    nvml.nvmlGpmSampleFree(before)
    nvml.nvmlGpmSampleFree(after)


def check_second_board(nvml):
    board = nvml.nvmlDeviceGetHandleByIndex(1)
    assert nvml.nvmlDeviceGetMigMode(board) == [1, 1]
    assert nvml.nvmlDeviceGetUUID(nvml.nvmlDeviceGetMigDeviceHandleByIndex(board, 1)).startswith("MIG-")
    try:
        nvml.nvmlDeviceGetTotalEnergyConsumption(board)
        raise AssertionError("a board without a counter gave energy")
    except nvml.NVMLError_NotSupported:
        pass


def main():
    if "JOULE_FAKE_NVML" not in os.environ:
        with open(os.path.join(BUILD, "CMakeCache.txt")) as cache:
            if any(line.startswith("JOULE_SANITIZE:") and line.split("=", 1)[1].strip() for line in cache):
                skip("a library with a sanitizer does not load into Python")
        python = python_with_package()
        environment = dict(os.environ, LD_LIBRARY_PATH=FAKES, JOULE_FAKE_NVML=SCRIPT)
        os.execve(python, [python, os.path.abspath(__file__)], environment)
    import pynvml as nvml
    nvml.nvmlInit()
    assert nvml.nvmlDeviceGetCount() == 2
    board = nvml.nvmlDeviceGetHandleByIndex(0)
    for check in (check_identity, check_energy, check_fields, check_samples, check_state, check_activity):
        check(nvml, board)
    check_second_board(nvml)
    nvml.nvmlShutdown()
    print("nvidia-ml-py reads the fake library")


main()
