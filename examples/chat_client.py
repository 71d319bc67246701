#!/usr/bin/env python3
"""Asks a language model behind `forge serve`, and prints the answer and the joules that it used.

    forge serve model.gguf &
    ./chat_client.py "Why is the sky blue?" --max-joules 20

The server accepts clients for OpenAI's API, too. This one needs only Python's standard library.
"""
import argparse
import json
import os
import sys
import urllib.error
import urllib.request


def ask(url, question, max_tokens, max_joules):
    """Returns the response to one question as an object. Raises OSError, also for a status other than 200."""
    body = {"messages": [{"role": "user", "content": question}], "max_tokens": max_tokens}
    headers = {"Content-Type": "application/json"}
    if max_joules:
        body["max_joules"] = max_joules
    if "FORGE_API_KEY" in os.environ:
        headers["Authorization"] = "Bearer " + os.environ["FORGE_API_KEY"]
    request = urllib.request.Request(url + "/v1/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def energy_text(energy, tokens):
    """Returns a line such as "12.1 J (8.3 to 17 J, modelled), 0.24 J per token"."""
    if energy["joules"] is None:
        return f"energy unknown, {tokens} tokens"
    text = f"{energy['joules']:.3g} J ({energy['low']:.2g} to {energy['high']:.2g} J, {energy['class']}), {tokens} tokens"
    if energy["joules_per_token"] is not None:
        text += f", {energy['joules_per_token']:.3g} J per token"
    if energy["limited_by"]:
        text += f"; {energy['limited_by']} ended the answer"
    return text


def reason_of(error):
    """Returns the server's message if there is one, else the reason of the system."""
    try:
        return json.load(error)["error"]["message"]
    except (AttributeError, KeyError, TypeError, ValueError):
        return error


def main():
    parser = argparse.ArgumentParser(description="Asks a language model, and prints the answer and its energy.")
    parser.add_argument("question")
    parser.add_argument("--url", default="http://127.0.0.1:8080", help="default: %(default)s")
    parser.add_argument("--max-tokens", type=int, default=256)
    parser.add_argument("--max-joules", type=float, help="end the answer before it uses more energy")
    options = parser.parse_args()
    try:
        response = ask(options.url, options.question, options.max_tokens, options.max_joules)
    except OSError as error:
        sys.exit(f"chat_client: cannot ask {options.url}: {reason_of(error)}")
    print(response["choices"][0]["message"]["content"])
    print(energy_text(response["energy"], response["usage"]["completion_tokens"]), file=sys.stderr)


if __name__ == "__main__":
    main()
