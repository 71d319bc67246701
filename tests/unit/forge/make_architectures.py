#!/usr/bin/env python3
"""Writes architectures_expected.h: log-probabilities that the package transformers computes for small models.

Usage: make_architectures.py > architectures_expected.h

Needs torch and transformers, which the tests do not need. The weights follow from the names of the tensors, so
that test_architectures.c can create the same weights (weight_of). All weights are exact in f32.
"""
import json
import re
import tempfile

import numpy
import torch
import transformers
from safetensors import safe_open

PROMPT, ANSWER, VOCABULARY = 50, 20, 96
MASK = (1 << 64) - 1
SIZES = dict(vocab_size=VOCABULARY, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=128, bos_token_id=None, eos_token_id=None,
             pad_token_id=None, attn_implementation="eager")
GPT2_SIZES = dict(vocab_size=VOCABULARY, n_embd=64, n_layer=2, n_head=4, n_positions=128, bos_token_id=None,
                  eos_token_id=None, attn_implementation="eager")


def rope(**members):
    return dict(rope_parameters=dict(rope_theta=10000.0, **members))


def yarn(**members):
    return rope(rope_type="yarn", factor=4.0, original_max_position_embeddings=32, **members)


# Name, type of the configuration, sizes and other members.
CASES = [
    ("llama", "llama", SIZES, dict(tie_word_embeddings=False)),
    ("llama_with_the_scaling_llama3", "llama", SIZES,
     dict(tie_word_embeddings=True, **rope(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                           original_max_position_embeddings=32))),
    ("llama_with_the_scaling_linear", "llama", SIZES,
     dict(head_dim=24, **rope(rope_type="linear", factor=2.5))),
    ("llama_with_the_scaling_yarn", "llama", SIZES, yarn()),
    ("llama_with_an_attention_factor", "llama", SIZES,
     dict(head_dim=32, **yarn(attention_factor=0.8, beta_fast=16.0, beta_slow=2.0))),
    ("llama_with_both_scales_of_yarn", "llama", SIZES, yarn(mscale=1.0, mscale_all_dim=0.5)),
    ("llama_with_a_ramp_that_is_not_truncated", "llama", SIZES, yarn(truncate=False)),
    ("mistral", "mistral", SIZES, dict(sliding_window=None, head_dim=24, rms_norm_eps=1e-5)),
    ("qwen2", "qwen2", SIZES, dict(tie_word_embeddings=True, **rope(rope_type="default"))),
    ("qwen2_with_the_scaling_yarn", "qwen2", SIZES, yarn()),
    ("qwen3", "qwen3", SIZES, dict(head_dim=40, tie_word_embeddings=True)),
    ("qwen3_with_one_head_of_keys", "qwen3", dict(SIZES, num_key_value_heads=1), dict(head_dim=32)),
    ("gpt2", "gpt2", GPT2_SIZES, dict(n_inner=None)),
]


# --- weights -----------------------------------------------------------------------------------------------------

def numbers(name, count):
    """Returns multiples of 2^-23 in [-1, 1), from a linear congruential generator."""
    state = 0xcbf29ce484222325
    for byte in name.encode():
        state = ((state ^ byte) * 0x100000001b3) & MASK
    values = numpy.empty(count, numpy.float32)
    for i in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) & MASK
        values[i] = (state >> 40) / (1 << 23) - 1
    return values


def weights(name, shape):
    values = numbers(name, int(numpy.prod(shape)))
    if re.search(r"(norm|ln_1|ln_2|ln_f)\.weight$", name):
        values = numpy.float32(1) + values * numpy.float32(0.25)
    elif len(shape) == 1 or re.search(r"(embed_tokens|lm_head|wte|wpe)\.weight$", name):
        values = values * numpy.float32(0.5)
    else:
        values = values * numpy.float32(0.25)
    return torch.from_numpy(values.reshape(shape))


# --- models ------------------------------------------------------------------------------------------------------

def new_model(kind, members):
    config = transformers.AutoConfig.for_model(kind, **members)
    model = transformers.AutoModelForCausalLM.from_config(config).float().eval()
    tied = config.tie_word_embeddings
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if not (tied and name == "lm_head.weight"):
                tensor.copy_(weights(name, tuple(tensor.shape)))
    return model


def saved(model):
    """Returns the text of config.json, and the names and shapes of the tensors, as save_pretrained writes them."""
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        with open(f"{folder}/config.json", encoding="utf-8") as file:
            config = json.load(file)
        with safe_open(f"{folder}/model.safetensors", "pt") as file:
            shapes = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}
    return json.dumps(config), shapes


def log_probabilities(model, tokens):
    with torch.no_grad():
        logits = model(torch.tensor([tokens])).logits[0]
    return torch.log_softmax(logits.double(), -1)


def prompt():
    return [int(abs(x) * (1 << 23)) % VOCABULARY for x in numbers("prompt", PROMPT)]


def run(model):
    """Returns the tokens of the greedy answer, and the log-probabilities of prompt and answer."""
    tokens = prompt()
    for _ in range(ANSWER):
        tokens.append(int(log_probabilities(model, tokens)[-1].argmax()))
    table = log_probabilities(model, tokens)
    top = torch.topk(table[PROMPT - 1:-1], 2).values
    assert float((top[:, 0] - top[:, 1]).min()) > 1e-3, "the best two tokens are too close for a comparison"
    return tokens[PROMPT:], [float(table[i, token]) for i, token in enumerate(tokens[1:])]


# --- output ------------------------------------------------------------------------------------------------------

def lines(items, indent="     "):
    """Returns the items in lines of at most 110 columns."""
    text, out = "", []
    for item in items:
        if len(text) + len(item) + 2 > 110 - len(indent):
            out.append(indent + text.rstrip())
            text = ""
        text += item + ", "
    return "\n".join(out + [indent + text.rstrip(", ")])


def quoted(text):
    """Returns a string of C in lines that end after members of an object."""
    parts = [""]
    for member in re.split(r"(?<=, )(?=\")", text):
        if len(json.dumps(parts[-1] + member)) > 104:
            parts.append("")
        parts[-1] += member
    return "\n".join("     " + json.dumps(part) for part in parts)


def print_case(name, kind, members):
    model = new_model(kind, members)
    config, shapes = saved(model)
    answer, logprobs = run(model)
    tensors = [f"{{\"{key}\", {{{', '.join(map(str, shape))}}}}}" for key, shape in sorted(shapes.items())]
    print(f"    {{\"{name}\",\n{quoted(config)},\n     {{\n{lines(tensors, '         ')}\n     }},")
    print(f"     {{{lines(map(str, answer)).strip()}}},")
    print(f"     {{{lines(f'{x:.6f}' for x in logprobs).strip()}}}}},")


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    print("/* architectures_expected.h - log-probabilities of small models, computed by transformers "
          f"{transformers.__version__} with\n * torch {torch.__version__.split('+')[0]}. Written by "
          "make_architectures.py; do not edit. */")
    print("/* clang-format off */")
    print(f"static const int32_t prompt[] = {{\n{lines(map(str, prompt()), '    ')}}};\n")
    print("static const struct expected expected[] = {")
    for name, kind, sizes, members in CASES:
        print_case(name, kind, dict(sizes, **members))
    print("};\n/* clang-format on */")


if __name__ == "__main__":
    main()
