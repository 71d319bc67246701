#!/usr/bin/env python3
"""Compares `forge bench-llm` with llama.cpp's llama-bench on random models of one shape, in one interleaved run.

usage: llm.py FORGE LLAMA_BENCH [--shape llama-1.1b] [--types q8_0,q4_0,...] [--rounds N] [--folder FOLDER]
              [--batched LLAMA_BATCHED_BENCH] [--batch 8]
With --batched, also compares the generation of several sequences at once with llama.cpp's llama-batched-bench.
Prints the median tokens/s of both and the median ratio of each round, and the same as JSON lines. The models are
written to the folder (default /tmp) once, and stay there.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys


def forge_speeds(program, model, prompt, generate, threads, batch=1):
    command = [program, "bench-llm", model, "--prompt", str(prompt), "--generate", str(generate), "--repeats", "1",
               "--threads", str(threads), "--batch", str(batch), "--json", "-"]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {test["name"][:2]: test["tokens_per_s"] for test in report["tests"]}


def llama_speeds(program, model, prompt, generate, threads):
    command = [program, "-m", model, "-p", str(prompt), "-n", str(generate), "-t", str(threads), "-r", "1", "-o", "json"]
    rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {"pp" if row["n_prompt"] else "tg": row["avg_ts"] for row in rows}


def batched_speed(program, model, prompt, generate, threads, batch):
    command = [program, "-m", model, "-npp", str(prompt), "-ntg", str(generate), "-npl", str(batch), "-t", str(threads),
               "-c", str(batch * (prompt + generate)), "--output-format", "jsonl"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return next(json.loads(line)["speed_tg"] for line in lines if line.startswith("{"))


def show(kind, test, pairs):
    """Prints the medians of pairs (tokens/s of forge, of llama.cpp), and the median of their ratios."""
    own, peer = (statistics.median(side) for side in zip(*pairs))
    ratio = statistics.median(ours / theirs for ours, theirs in pairs)
    print(f"{kind:6} {test:6} {own:9.2f} {peer:9.2f} {ratio:7.2f}")
    print(json.dumps({"type": kind, "test": test, "forge": own, "llama.cpp": peer, "ratio": ratio}))
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("forge")
    parser.add_argument("llama_bench")
    parser.add_argument("--shape", default="llama-1.1b")
    parser.add_argument("--types", default="q8_0,q4_0,q4_k,bf16")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--generate", type=int, default=32)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--batched", help="llama.cpp's llama-batched-bench")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--folder", default="/tmp")
    options = parser.parse_args()
    print(f"{'type':6} {'test':6} {'forge':>9} {'llama.cpp':>9} {'ratio':>7}   tokens/s, medians of {options.rounds} rounds")
    for kind in options.types.split(","):
        model = os.path.join(options.folder, f"{options.shape}-{kind}.gguf")
        if not os.path.exists(model):
            subprocess.run([options.forge, "bench-llm", "--random", f"{options.shape}:{kind}", "--write", model, "--prompt", "1",
                            "--generate", "1", "--repeats", "1"], check=True, capture_output=True)
        sizes = model, options.prompt, options.generate, options.threads
        rounds = [(forge_speeds(options.forge, *sizes), llama_speeds(options.llama_bench, *sizes)) for _ in range(options.rounds)]
        for test in ("pp", "tg"):
            show(kind, test, [(ours[test], theirs[test]) for ours, theirs in rounds])
        if options.batched:
            batch = options.batch
            show(kind, f"tg x{batch}", [(forge_speeds(options.forge, *sizes, batch)["tg"],
                                       batched_speed(options.batched, *sizes, batch)) for _ in range(options.rounds)])


if __name__ == "__main__":
    main()
