"""Checks a file in the Trace Event Format (docs.google.com, "Trace Event Format") by the rules that viewers need:
fields and their types, one name for each process and thread, timestamps that ascend on each track, and slices of
a thread that nest."""
import collections
import json
import math

NAMES = ("process_name", "thread_name")
FIELDS = {"M": {"args"}, "C": {"ts", "args"}, "X": {"ts", "dur", "cat"}, "b": {"ts", "id", "cat"}, "e": {"ts", "id", "cat"}}


def read_trace(path):
    """Returns the events of a trace. Raises AssertionError if a rule is broken."""
    with open(path, encoding="utf-8") as file:
        trace = json.load(file, parse_constant=fail_constant)
    assert set(trace) == {"displayTimeUnit", "traceEvents"} and trace["displayTimeUnit"] in ("ms", "ns"), list(trace)
    events = trace["traceEvents"]
    tracks = collections.defaultdict(list)
    for event in events:
        check_fields(event)
        tracks[track_of(event)].append(event)
    names = check_names(events)
    for track, found in tracks.items():
        if track[0] != "M":
            check_order(found)
        if track[0] == "X":
            assert track[1:] in names["thread_name"] and track[1:2] in names["process_name"], track
            check_nesting(found)
        if track[0] == "C":
            assert track[1:2] in names["process_name"], track
            assert len({tuple(event["args"]) for event in found}) == 1, f"a counter changes its unit: {track}"
        if track[0] == "async":
            assert [event["ph"] for event in found] == ["b", "e"], found
            assert found[0]["name"] == found[1]["name"], found
    return events


def fail_constant(word):
    raise AssertionError(f"{word} is not JSON")


def check_fields(event):
    kind = event.get("ph")
    assert kind in FIELDS, event
    assert set(event) == {"ph", "pid", "tid", "name"} | FIELDS[kind], event
    assert type(event["pid"]) is int and type(event["tid"]) is int, event
    assert isinstance(event["name"], str) and event["name"], event
    for key in ("ts", "dur"):
        assert key not in event or is_number(event[key]) and event[key] >= 0, event
    assert isinstance(event.get("cat", ""), str), event
    if kind == "M":
        assert event["name"] in NAMES and list(event["args"]) == ["name"] and isinstance(event["args"]["name"], str), event
    if kind == "C":
        assert len(event["args"]) == 1 and all(map(is_number, event["args"].values())), event


def is_number(value):
    return type(value) in (int, float) and math.isfinite(value)


def track_of(event):
    """Returns the track of an event: counters belong to a process, slices to a thread, asynchronous events to an id."""
    if event["ph"] == "C":
        return "C", event["pid"], event["name"]
    if event["ph"] in "be":
        return "async", event["pid"], event["cat"], event["id"]
    return event["ph"], event["pid"], event["tid"]


def check_names(events):
    """Returns the named processes (pid,) and threads (pid, tid)."""
    names = {"process_name": set(), "thread_name": set()}
    for event in events:
        if event["ph"] == "M":
            key = (event["pid"], event["tid"])[:1 if event["name"] == "process_name" else 2]
            assert key not in names[event["name"]], f"named twice: {event}"
            names[event["name"]].add(key)
    return names


def check_order(events):
    for before, after in zip(events, events[1:]):
        assert before["ts"] <= after["ts"], (before, after)


def nanoseconds(event):
    return round(event["ts"] * 1000), round((event["ts"] + event["dur"]) * 1000)


def check_nesting(events):
    """Each slice ends before the slice around it, as viewers assume."""
    open_ends = []
    for event in events:
        begin, end = nanoseconds(event)
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1], f"the slice ends after the one around it: {event}"
        open_ends.append(end)
