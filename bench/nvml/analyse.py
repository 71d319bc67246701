#!/usr/bin/env python3
"""Prints tables from the raw events of the NVML probe: analyse.py FOLDER

Units are CLOCK_MONOTONIC seconds, watts and joules. The time of a polled value is the end of the call that first
returned it; samples of the driver's ring have their own time stamps, converted from REALTIME to MONOTONIC if needed.
"""
import csv
import os
import statistics
import sys


def rows(folder, name):
    with open(os.path.join(folder, name), newline="") as file:
        return [row for row in csv.DictReader(file) if None not in row.values()]


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def load(folder):
    phases = {r["phase"]: {k: int(v) for k, v in r.items() if k != "phase"} for r in rows(folder, "phases.csv")}
    series = {}
    for r in rows(folder, "polls.csv"):
        series.setdefault((r["phase"], r["sensor"]), []).append((int(r["after_us"]) / 1e6, float(r["value"]) / 1e3))
    for r in rows(folder, "ring.csv"):
        offset = phases[r["phase"]]["realtime_less_monotonic_us"]
        stamp = int(r["stamp_us"])
        on_realtime = abs(stamp - offset - int(r["after_us"])) < abs(stamp - int(r["after_us"]))
        time = (stamp - offset if on_realtime else stamp) / 1e6
        series.setdefault((r["phase"], "ring"), []).append((time, float(r["milliwatts"]) / 1e3))
        series.setdefault((r["phase"], "ring age"), []).append((time, int(r["after_us"]) / 1e6 - time))
    edges = {}
    for r in rows(folder, "edges.csv"):
        edges.setdefault(r["phase"], []).append((int(r["time_us"]) / 1e6, r["edge"]))
    return phases, series, edges


def print_periods(series):
    print("\nspacing of changed values, ms (5 %, median, 95 %), and the range of the values")
    for (phase, sensor), points in sorted(series.items()):
        if sensor == "ring age" or len(points) < 3:
            continue
        gaps = [(b[0] - a[0]) * 1e3 for a, b in zip(points, points[1:])]
        values = [p[1] for p in points]
        print(f"  {phase:16} {sensor:11} {len(points):6} changes  {percentile(gaps, .05):8.2f} "
              f"{statistics.median(gaps):8.2f} {percentile(gaps, .95):8.2f}   from {min(values):.3f} to {max(values):.3f}")


def print_ring(series):
    print("\nage of the ring's samples when first seen, ms (min, median, max)")
    for (phase, sensor), points in sorted(series.items()):
        if sensor == "ring age":
            ages = [p[1] * 1e3 for p in points]
            print(f"  {phase:16} {min(ages):10.1f} {statistics.median(ages):10.1f} {max(ages):10.1f}")


def hold(points, begin, end):
    """Returns the integral of a step function, whose values hold until the next point."""
    total = 0.0
    for (t, watts), (after, _) in zip(points, points[1:] + [(end, 0)]):
        total += watts * max(0.0, min(after, end) - max(t, begin))
    return total


def trapezoid(points, begin, end):
    """Returns the integral of a curve with linear ramps between values. Only changes are recorded. A value is
    constant until one update period before the next change, where the ramp to the new value begins."""
    period = statistics.median(b[0] - a[0] for a, b in zip(points, points[1:]))
    total = 0.0
    for (a, p), (b, q) in zip(points, points[1:]):
        if a >= begin and b <= end:
            ramp = min(b - a, 1.5 * period)
            total += p * (b - a - ramp) + (p + q) / 2 * ramp
    return total


def print_energy(series, edges):
    print("\nmean power over whole ticks of the counter, W: counter, then (integral - counter) / counter in %")
    print("  hold: each value until the next; trap: trapezoid; model: duty of the load between the levels of step_*")
    step = sorted(p[1] for p in series.get(("step_3000_3000", "instant186"), []))
    low, high = percentile(step, .1), percentile(step, .9)
    for phase in dict.fromkeys(key[0] for key in series):
        counter = series.get((phase, "counter")) or series.get((phase, "energy191"))
        if not counter or len(counter) < 10:
            continue
        (begin, first), (end, last) = counter[1], counter[-1]
        used, line = last - first, f"  {phase:16} {(last - first) / (end - begin):8.2f} W over {end - begin:5.1f} s "
        for sensor in ("instant186", "average185", "usage", "ring"):
            points = series.get((phase, sensor))
            if points and len(points) > 2:
                inside = [p for p in points if begin <= p[0] <= end]
                span = inside[-1][0] - inside[0][0] if len(inside) > 1 else 0
                trap = trapezoid(points, begin, end) / span * (end - begin) if span > 0 else float("nan")
                line += f" {sensor} hold {(hold(points, begin, end) / used - 1) * 100:+.2f} trap {(trap / used - 1) * 100:+.2f};"
        busy = 0.0
        for (up, _), (down, _) in zip(edges.get(phase, [])[::2], edges.get(phase, [])[1::2]):
            busy += max(0.0, min(down, end) - max(up, begin))
        if busy > 0 and step:
            expected = low + (high - low) * busy / (end - begin)
            line += f" model {(expected * (end - begin) / used - 1) * 100:+.2f} (duty {busy / (end - begin):.3f})"
        print(line)


def crossing(points, edge, limit, level, rising):
    for time, value in points:
        if time > edge and time < limit and (value >= level if rising else value <= level):
            return (time - edge) * 1e3
    return float("nan")


def print_steps(series, edges):
    print("\nstep response, ms after the edge until 10, 50 and 90 % of the step (medians)")
    for phase in ("step_3000_3000", "square_500_500"):
        marks = edges.get(phase, [])
        for sensor in ("instant186", "average185", "usage", "ring", "memory185", "module186"):
            points = series.get((phase, sensor))
            if not points or len(points) < 10 or len(marks) < 4:
                continue
            low, high = percentile([p[1] for p in points], .05), percentile([p[1] for p in points], .95)
            for rising in (True, False):
                found = [[], [], []]
                for (edge, kind), (following, _) in zip(marks, marks[1:]):
                    if (kind == "up") != rising or edge < points[0][0] or following > points[-1][0]:
                        continue
                    for i, share in enumerate((.1, .5, .9)):
                        level = low + (high - low) * (share if rising else 1 - share)
                        time = crossing(points, edge, following, level, rising)
                        if time == time:
                            found[i].append(time)
                medians = [f"{statistics.median(f):7.1f}" if f else "      -" for f in found]
                print(f"  {phase:16} {sensor:11} {'up  ' if rising else 'down'} {low:8.1f} to {high:8.1f} W  "
                      + " ".join(medians))


def print_levels(series):
    print("\nshare of values near the low level, near the high level and in between (within 15 % of the step)")
    for (phase, sensor), points in sorted(series.items()):
        if not phase.startswith(("square", "step")) or sensor not in ("ring", "instant186", "average185", "usage"):
            continue
        values = [p[1] for p in points]
        low, high = min(values), max(values)
        near = 0.15 * (high - low)
        at_low = sum(v <= low + near for v in values) / len(values)
        at_high = sum(v >= high - near for v in values) / len(values)
        print(f"  {phase:16} {sensor:11} low {at_low:5.2f} high {at_high:5.2f} between {1 - at_low - at_high:5.2f}"
              f"   {low:.1f} to {high:.1f} W")


def print_observer(phases):
    print("\npower by the counter alone, W (shows whether polling costs energy)")
    for phase, p in phases.items():
        seconds = (p["end_us"] - p["begin_us"]) / 1e6
        if seconds > 0:
            print(f"  {phase:16} {(p['end_mj'] - p['begin_mj']) / 1e3 / seconds:8.2f} W over {seconds:.1f} s")


def print_gpm(folder):
    print("\nGPM, means in %: graphics, SM, tensor, DRAM, FP32 (status of the last), and call times in us")
    table = {}
    for r in rows(folder, "gpm.csv"):
        table.setdefault(r["phase"], []).append(r)
    for phase, found in table.items():
        line = f"  {phase:16}"
        for name in ("graphics", "sm", "tensor", "dram", "fp32"):
            good = [float(r[name]) for r in found if r[name + "_status"] == "0"]
            line += f" {name} {statistics.mean(good) if good else float('nan'):6.2f} ({found[-1][name + '_status']})"
        line += (f"   sample {statistics.median(int(r['sample_us']) for r in found):.0f}"
                 f" metrics {statistics.median(int(r['metrics_us']) for r in found):.0f}"
                 f" codes {found[-1]['sample_code']} {found[-1]['metrics_code']}")
        print(line)


def main():
    folder = sys.argv[1]
    phases, series, edges = load(folder)
    for name in ("facts.txt", "latency.csv"):
        with open(os.path.join(folder, name)) as file:
            print(f"--- {name}\n{file.read()}")
    print_observer(phases)
    print_periods(series)
    print_ring(series)
    print_energy(series, edges)
    print_steps(series, edges)
    print_levels(series)
    print_gpm(folder)


main()
