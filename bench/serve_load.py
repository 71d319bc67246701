#!/usr/bin/env python3
"""Measures latencies, throughput and joules of `forge serve` at given rates of requests.

usage: serve_load.py MODEL [--rate 1,4,16] [--requests N] ... [-- OPTIONS OF forge serve]
       serve_load.py --url http://HOST:PORT [--rate 1,4,16] [--requests N] ...

Starts a server on a free port of this machine, unless --url names one. The times between arrivals are exponential
(Poisson arrivals). Each request has random tokens as its prompt, and streams an answer of exactly --max-tokens tokens.
For each rate, prints mean, median and 99th percentile of
- TTFT, the time from sending a request to the first token,
- TPOT, the time per output token after the first one: (E2E - TTFT) / (tokens - 1),
- ITL, the time between two events with text, over all answers,
- E2E, the time from sending a request to its last token,
and the throughput from the first request to the last answer. These are the definitions of vLLM's benchmark. The joules
are those of the answers, and those of the server's meter, which contain idle time. Note: the time for which
--concurrency delays a request is not part of its latency.
"""
import argparse
import asyncio
import contextlib
import json
import math
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import time
import urllib.parse
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FORGE = os.path.join(ROOT, os.environ.get("JOULE_BUILD", "build/release"), "tools", "forge", "forge")
CLASSES = ("measured", "derived", "modelled", "assumed")  # from the best to the worst


class Server:
    """A server that this program starts and ends."""

    def __init__(self, options):
        # In its own session, Ctrl-C reaches only this program, which then ends the server.
        self.process = subprocess.Popen([options.forge, "serve", options.model, "--port", "0", *options.server],
                                        stderr=subprocess.PIPE, text=True, start_new_session=True)

    def wait(self):
        """Waits until the server is ready. Returns its address."""
        address, messages = None, ""
        for line in self.process.stderr:
            messages += line
            found = re.search(r"listening on (http://\S+)/$", line)
            address = found[1] if found else address
            if "is ready" in line:
                return address
        sys.exit(f"cannot start the server: {messages}")

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Answer:
    """The times and facts of one request. Times are those of time.perf_counter()."""

    def __init__(self):
        self.sent = self.ended = 0.0
        self.events = []  # times of the events that have text
        self.status = 0  # 0: no answer
        self.failure = None
        self.tokens = 0
        self.energy = None


def get(url, key):
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})
    with urllib.request.urlopen(request, timeout=60) as response:
        return response.read().decode()


def meter_joules(options):
    """Returns the joules of the server's meter since its start, with idle time; NaN if they are unknown."""
    with contextlib.suppress(OSError):
        for line in get(options.url + "/metrics", options.key).splitlines():
            if line.startswith("tensorforge:meter_joules_total"):
                return float(line.split()[-1])
    return math.nan


# --- one request ----------------------------------------------------------------------------------------------

async def read_lines(reader, is_chunked):
    """Yields the lines of a body."""
    if not is_chunked:
        while line := await reader.readline():
            yield line
        return
    rest = b""
    while size := int(await reader.readline() or b"0", 16):
        *lines, rest = (rest + await reader.readexactly(size)).split(b"\n")
        await reader.readexactly(2)
        for line in lines:
            yield line
    yield rest


def take_event(answer, line, now):
    """Takes one line of a stream."""
    if not line.startswith(b"data: ") or line.startswith(b"data: [DONE]"):
        return
    event = json.loads(line[6:])
    if "error" in event:
        answer.failure = event["error"]["message"]
    if any(choice.get("text") for choice in event.get("choices", ())):
        answer.events.append(now)
    answer.tokens = (event.get("usage") or {}).get("completion_tokens", answer.tokens)
    answer.energy = event.get("energy", answer.energy)


async def exchange(answer, body, options):
    """Sends a request and reads its answer."""
    where = urllib.parse.urlsplit(options.url)
    reader, writer = await asyncio.open_connection(where.hostname, where.port or 80, limit=1 << 24)
    try:
        head = [f"POST {where.path}/v1/completions HTTP/1.1", f"Host: {where.netloc}", "Content-Type: application/json",
                f"Content-Length: {len(body)}", "Connection: close"] + ([f"Authorization: Bearer {options.key}"] if options.key else [])
        answer.sent = time.perf_counter()
        writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + body)
        answer.status = int((await reader.readline()).split()[1])
        headers = {}
        while line := (await reader.readline()).strip().lower():
            name, _, value = line.partition(b":")
            headers[name] = value.strip()
        async for line in read_lines(reader, headers.get(b"transfer-encoding") == b"chunked"):
            take_event(answer, line, time.perf_counter())
        answer.ended = time.perf_counter()
        if answer.status == 200 and not (answer.events and answer.tokens):
            answer.failure = answer.failure or "the answer has no tokens"
    finally:
        writer.close()


async def ask(body, options, slots):
    answer = Answer()
    async with slots:
        try:
            await asyncio.wait_for(exchange(answer, body, options), options.timeout)
        except (OSError, ValueError, LookupError, asyncio.IncompleteReadError, asyncio.TimeoutError) as error:
            answer.failure = repr(error)
    return answer


# --- one rate -------------------------------------------------------------------------------------------------

def body_of(options, generator):
    prompt = [generator.randrange(options.first_token, options.vocabulary) for _ in range(options.prompt_tokens)]
    return json.dumps({"model": options.name, "prompt": prompt, "max_tokens": options.max_tokens, "temperature": 1, "seed": generator.getrandbits(31),
                       "ignore_eos": True, "stream": True, "stream_options": {"include_usage": True}}).encode()


async def load(options, rate):
    """Sends requests at a rate. Returns all answers, the duration in seconds, and the joules of the server's meter."""
    generator = random.Random(f"{options.seed} {rate}")
    slots = asyncio.Semaphore(options.concurrency)
    before, tasks = meter_joules(options), []
    begin = due = time.perf_counter()
    for _ in range(options.requests):
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.create_task(ask(body_of(options, generator), options, slots)))
        due += generator.expovariate(rate) if math.isfinite(rate) else 0.0
    answers = await asyncio.gather(*tasks)
    end = max((answer.ended for answer in answers), default=0.0)
    await asyncio.sleep(0.1)  # the server's metrics follow an answer by a step
    return answers, max(end - begin, 1e-9), meter_joules(options) - before


def summary_of(seconds):
    """Returns mean, median and 99th percentile in milliseconds; None if there are no values."""
    if not seconds:
        return None
    ordered = sorted(seconds)
    position = 0.99 * (len(ordered) - 1)
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    p99 = ordered[low] + (ordered[high] - ordered[low]) * (position - low)
    return {"mean": round(1e3 * statistics.fmean(ordered), 3), "median": round(1e3 * statistics.median(ordered), 3), "p99": round(1e3 * p99, 3)}


def energy_of(answers, total_joules):
    """Returns joules per token and per request of the answers whose energy is known, and the worst of their classes."""
    known = [answer for answer in answers if answer.energy and answer.energy["joules"] is not None]
    joules, tokens = sum(answer.energy["joules"] for answer in known), sum(answer.tokens for answer in known)
    classes = [answer.energy["class"] for answer in known]
    return {"joules_per_token": joules / tokens if tokens else None, "joules_per_request": joules / len(known) if known else None,
            "class": max(classes, key=CLASSES.index) if classes else None, "answers_with_energy": len(known),
            "meter_joules_per_token": total_joules / sum(answer.tokens for answer in answers) if answers and total_joules > 0 else None}


def result_of(options, rate, answers, duration, total_joules):
    done = [answer for answer in answers if answer.status == 200 and not answer.failure]
    failed = [answer for answer in answers if answer not in done and answer.status != 429]
    tokens = sum(answer.tokens for answer in done)
    return {
        "bench": "serve_load", "model": options.name, "rate": rate if math.isfinite(rate) else None, "requests": len(answers), "answered": len(done),
        "refused_429": sum(answer.status == 429 for answer in answers), "failed": len(failed), "first_failure": failed[0].failure or f"status {failed[0].status}" if failed else None,
        "prompt_tokens": options.prompt_tokens, "max_tokens": options.max_tokens, "seed": options.seed, "concurrency": options.concurrency,
        "duration_s": round(duration, 3), "requests_per_s": round(len(done) / duration, 3), "tokens_per_s": round(tokens / duration, 2),
        "all_tokens_per_s": round((tokens + options.prompt_tokens * len(done)) / duration, 2),
        "ttft_ms": summary_of([answer.events[0] - answer.sent for answer in done]),
        "tpot_ms": summary_of([(answer.events[-1] - answer.events[0]) / (answer.tokens - 1) for answer in done if answer.tokens > 1]),
        "itl_ms": summary_of([later - earlier for answer in done for earlier, later in zip(answer.events, answer.events[1:])]),
        "e2e_ms": summary_of([answer.events[-1] - answer.sent for answer in done]),
        "energy": energy_of(done, total_joules),
    }


def print_result(result):
    rate = "all at once" if result["rate"] is None else f"{result['rate']:g} requests/s"
    print(f"{rate}: {result['requests']} requests, {result['answered']} answered, {result['refused_429']} refused (429), {result['failed']} failed; "
          f"{result['requests_per_s']:.2f} requests/s, {result['tokens_per_s']:.1f} tokens/s in {result['duration_s']:.1f} s")
    if result["first_failure"]:
        print(f"  first failure: {result['first_failure']}")
    energy = result["energy"]
    if energy["joules_per_token"] is not None:
        meter = energy["meter_joules_per_token"]
        print(f"  {energy['joules_per_token']:.3g} J/token, {energy['joules_per_request']:.3g} J/request ({energy['class']}, {energy['answers_with_energy']} answers)"
              + (f"; meter: {meter:.3g} J/token" if meter else ""))
    print(f"  {'ms':6}{'mean':>12}{'median':>12}{'p99':>12}")
    for name in ("ttft", "tpot", "itl", "e2e"):
        values = result[name + "_ms"]
        print(f"  {name.upper():6}" + ("".join(f"{values[key]:12.2f}" for key in ("mean", "median", "p99")) if values else f"{'unknown':>12}"))
    sys.stdout.flush()


# --- the program ----------------------------------------------------------------------------------------------

def read_rates(text):
    rates = [float(word) for word in text.split(",")]
    if not all(rate > 0 for rate in rates):
        raise argparse.ArgumentTypeError("rates must be above 0; inf: all requests at once")
    return rates


def read_count(text):
    if int(text) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return int(text)


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", metavar="MODEL", help="model of the server that is started")
    parser.add_argument("--url", help="address of a running server")
    parser.add_argument("--forge", default=FORGE, help="program that is started")
    parser.add_argument("--rate", type=read_rates, default=[1.0, 4.0, 16.0], help="requests/s, one or several; inf: all at once (default: 1,4,16)")
    parser.add_argument("--requests", type=read_count, default=100, help="requests for each rate (default: 100)")
    parser.add_argument("--prompt-tokens", type=read_count, default=64, help="default: 64")
    parser.add_argument("--max-tokens", type=read_count, default=64, help="default: 64")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--concurrency", type=read_count, default=1024, help="maximum number of requests at the same time (default: 1024)")
    parser.add_argument("--vocabulary", type=read_count, default=512, help="tokens of prompts are below this number (default: 512)")
    parser.add_argument("--first-token", type=int, default=259, help="and not below this number, where other tokens may be controls and bytes (default: 259)")
    parser.add_argument("--key", default=os.environ.get("FORGE_API_KEY"), help="API key (default: the variable FORGE_API_KEY)")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one request (default: 120)")
    parser.add_argument("--json", metavar="FILE", help="write the results to FILE, one JSON line for each rate; -: to the standard output")
    words = [*sys.argv[1:], "--"]
    options = parser.parse_args(words[:words.index("--")])
    options.server = words[words.index("--") + 1:-1]
    if bool(options.model) == bool(options.url):
        parser.error("give either a MODEL or --url")
    if not 0 <= options.first_token < options.vocabulary:
        parser.error("--first-token must be below --vocabulary")
    return options


def run(options, results):
    options.name = json.loads(get(options.url + "/v1/models", options.key))["data"][0]["id"]
    asyncio.run(load(argparse.Namespace(**{**vars(options), "requests": 1}), math.inf))  # reads the weights once
    for rate in options.rate:
        results.append(result_of(options, rate, *asyncio.run(load(options, rate))))
        print_result(results[-1])


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    options, results, code = read_options(), [], 0
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    server = Server(options) if options.model else None
    try:
        options.url = server.wait() if server else options.url.rstrip("/")
        run(options, results)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = 130
    except OSError as error:
        sys.exit(f"cannot reach {options.url}: {error}")
    finally:
        if server:
            server.end()
    lines = "".join(json.dumps(result) + "\n" for result in results)
    if options.json == "-":
        print(lines, end="")
    elif options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            file.write(lines)
    return code or any(result["failed"] for result in results)


if __name__ == "__main__":
    sys.exit(main())
