"""Power over time as a small SVG image, and the HTML that Jupyter shows for a measurement."""
from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING, Any, Iterable

if TYPE_CHECKING:
    from .measurement import Measurement

__all__ = ["draw", "page", "table"]

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 640, 180, 56, 24, 10
PARTS = (("cpu", "processors", "#4c78a8"), ("gpu", "GPUs", "#f58518"))  # stacked from the bottom
MAX_STEPS = 600  # a longer series of ticks is thinned to this number


def steps_of(measurement: Measurement) -> list[tuple[float, float, dict[str, float]]]:
    """Returns (begin, end, watts of each part) for each time between two updates of the sensors; times in
    seconds since the measurement began. Parts without a known energy are left out."""
    begin, end, meter = measurement.begin_ns, measurement.end_ns, measurement.meter
    measurement.wait()
    margin = (end - begin) // 50  # a shorter step at an edge would show the error of the edge
    ticks = [tick for tick in meter.ticks(begin + margin) if tick < end - margin]
    edges = [begin, *ticks[::len(ticks) // MAX_STEPS + 1], end]
    steps = []
    for first, last in zip(edges, edges[1:]):
        if last > first:
            watts = {part: meter.window(first, last, part).joules.value * 1e9 / (last - first) for part, _, _ in PARTS}
            known = {part: value for part, value in watts.items() if not math.isnan(value)}
            if not known:
                whole = meter.window(first, last).joules.value * 1e9 / (last - first)
                known = {} if math.isnan(whole) else {"cpu": whole}
            steps.append(((first - begin) / 1e9, (last - begin) / 1e9, known))
    return steps


def draw(measurement: Measurement) -> str:
    """Returns the skyline of a measurement as SVG: the area is the energy."""
    steps = steps_of(measurement)
    top = _round_up(1.2 * max((sum(watts.values()) for _, _, watts in steps), default=0.0) or 1.0)
    seconds = measurement.seconds or 1.0

    def x(time: float) -> str:
        return f"{LEFT + (WIDTH - LEFT - 8) * time / seconds:.1f}"

    def y(watts: float) -> str:
        return f"{TOP + (HEIGHT - TOP - BOTTOM) * (1 - max(watts, 0.0) / top):.1f}"

    areas: list[str] = []
    keys, base = "", [0.0] * len(steps)
    for part, title, colour in PARTS:
        if not any(part in watts for _, _, watts in steps):
            continue
        upper = [low + watts.get(part, 0.0) for low, (_, _, watts) in zip(base, steps)]
        path = "".join(f"L{x(first)},{y(high)}L{x(last)},{y(high)}" for high, (first, last, _) in zip(upper, steps))
        back = "".join(f"L{x(last)},{y(low)}L{x(first)},{y(low)}"
                       for low, (first, last, _) in reversed(list(zip(base, steps))))
        keys += (f'<rect x="{WIDTH - 90}" y="{TOP + 4 + 16 * len(areas)}" width="10" height="10" fill="{colour}"/>'
                 f'<text x="{WIDTH - 76}" y="{TOP + 13 + 16 * len(areas)}">{title}</text>')
        areas.append(f'<path d="M{(path + back)[1:]}Z" fill="{colour}"><title>{title}</title></path>')
        base = upper
    axes = "".join(
        f'<text x="{LEFT - 6}" y="{y(watts)}" text-anchor="end" dominant-baseline="middle">{watts:.3g} W</text>'
        f'<path d="M{LEFT},{y(watts)}H{WIDTH - 8}" stroke="#999" stroke-width="0.5"/>' for watts in (0.0, top / 2, top))
    times = "".join(f'<text x="{x(time)}" y="{HEIGHT - 8}" text-anchor="{anchor}">{time:.3g} s</text>'
                    for time, anchor in ((0.0, "start"), (seconds, "end")))
    name = html.escape(f"{measurement.name}: {measurement.joules}")
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
            f'font-family="sans-serif" font-size="11" role="img"><title>{name}</title>{"".join(areas)}'
            f'<g fill="#666">{axes}{times}{keys}</g></svg>')


def _round_up(value: float) -> float:
    """Returns the next of 1, 2 and 5 times a power of ten."""
    scale = 10.0 ** math.floor(math.log10(value))
    return next(step * scale for step in (1, 2, 5, 10) if value <= step * scale * 1.0001)


def page(measurement: Measurement) -> str:
    """Returns the figures and the skyline of a measurement as HTML."""
    rows = [("energy", str(measurement.joules)), ("power", str(measurement.watts)), ("time", f"{measurement.seconds:.3g} s"),
            *((device, str(joules)) for device, joules in measurement.devices.items())]
    cells = "".join(f"<tr><td>{html.escape(key)}</td><td>{html.escape(value)}</td></tr>" for key, value in rows)
    return (f"<div><div><strong>{html.escape(measurement.name)}</strong></div>{draw(measurement)}"
            f"<table>{cells}</table></div>")


def table(rows: Iterable[dict[str, Any]]) -> str:
    """Returns rows with equal keys as an HTML table. None is shown as "unknown"."""
    listed = list(rows)
    if not listed:
        return "<p>no measurement yet</p>"
    head = "".join(f"<th>{html.escape(key)}</th>" for key in listed[0])
    body = "".join("<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row.values()) + "</tr>"
                   for row in listed)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(value: Any) -> str:
    return "unknown" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
