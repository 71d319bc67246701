#!/usr/bin/env python3
"""Checks that language models in folders of Hugging Face have the log-probabilities of a forward pass in PyTorch.

Each model has random sizes, settings and weights. The forward pass computes in f64, without a cache. Weights are in
f32, f16 or bf16; the engine's cache is in f32. Note: test_architectures.c compares with recorded numbers of the
package transformers, and needs no PyTorch.
"""
import json
import math
import os
import random
import tempfile
import unittest
from ctypes import (POINTER, Structure, byref, c_bool, c_char_p, c_double, c_float, c_int32, c_size_t,
                    c_uint8, c_uint32, c_uint64, c_void_p)

import run_support  # noqa: F401
from torch_peer import forge, torch

F = torch.nn.functional
PROMPT, ANSWER, VOCABULARY = 50, 20, 128
TOLERANCE = 1e-4
DTYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
OK, ABSENT = 0, 1  # joule_status


# --- the engine ------------------------------------------------------------------------------------------------------

class Sampling(Structure):
    _fields_ = [("struct_size", c_uint32), ("order", c_uint32), ("temperature", c_double), ("top_p", c_double),
                ("min_p", c_double), ("repetition_penalty", c_double), ("presence_penalty", c_double),
                ("frequency_penalty", c_double), ("seed", c_uint64), ("top_k", c_int32), ("bias_count", c_uint32),
                ("biases", c_void_p)]


class EngineOptions(Structure):
    _fields_ = [(name, c_uint32) for name in ("struct_size", "page_size", "max_batch_size", "max_batch_tokens",
                                              "max_length", "chunk_tokens")]
    _fields_ += [("cache_tokens", c_uint64), ("cache_dtype", c_uint32), ("disables_prefix_cache", c_bool),
                 ("is_by_priority", c_bool), ("reserved", c_uint8 * 2), ("objective", c_uint32),
                 ("reserved2", c_uint32), ("max_power_watts", c_double), ("max_request_joules", c_double),
                 ("meter", c_void_p), ("energy_source", c_void_p), ("speculation", c_uint32),
                 ("draft_tokens", c_uint32), ("draft_model", c_void_p), ("min_match", c_uint32),
                 ("max_match", c_uint32), ("keeps_draft_tokens", c_bool), ("keeps_weights_mapped", c_bool),
                 ("keeps_f32_inputs", c_bool), ("reserved3", c_uint8 * 5)]


class Request(Structure):
    _fields_ = [("struct_size", c_uint32), ("max_tokens", c_uint32), ("prompt", POINTER(c_int32)),
                ("prompt_count", c_size_t), ("sampling", Sampling), ("min_tokens", c_uint32), ("logprobs", c_uint32),
                ("stop_tokens", c_void_p), ("stop_count", c_size_t), ("cache_salt", c_char_p), ("priority", c_int32),
                ("reports_logprobs", c_bool), ("reports_prompt", c_bool), ("ignores_end", c_bool),
                ("reserved", c_uint8), ("max_joules", c_double), ("json_schema", c_char_p),
                ("needs_json_object", c_bool), ("reserved2", c_uint8 * 7)]


class Event(Structure):
    """The first members of forge_engine_event, and room for the others."""
    _fields_ = [("struct_size", c_uint32), ("end", c_uint32), ("request", c_uint64), ("token", c_int32),
                ("is_prompt", c_bool), ("reserved", c_uint8 * 3), ("logprob", c_float), ("others", c_uint32 * 256)]


def run_engine(folder, prompt):
    """Returns the tokens of the prompt and its greedy answer, and the log-probabilities of all but the first."""
    lib, error = forge.LIB, forge.Error()
    model, engine, number = c_void_p(), c_void_p(), c_uint64()
    options = forge.options(EngineOptions, cache_dtype=forge.NUMBER["F32"], page_size=8, max_batch_tokens=24,
                            keeps_f32_inputs=True)
    forge._check(lib.forge_model_open(folder.encode(), None, byref(model), byref(error)), error)
    try:
        forge._check(lib.forge_engine_new(model, forge.DEVICE, byref(options), byref(engine), byref(error)), error)
        lib.forge_sampling_default.restype = Sampling
        sampling = lib.forge_sampling_default()
        sampling.temperature = 0
        request = forge.options(Request, max_tokens=ANSWER, prompt=(c_int32 * len(prompt))(*prompt),
                                prompt_count=len(prompt), sampling=sampling, reports_logprobs=True,
                                reports_prompt=True)
        forge._check(lib.forge_engine_add(engine, byref(request), byref(number), byref(error)), error)
        tokens, logprobs, event = [], [], forge.options(Event)
        while (status := lib.forge_engine_step(engine, byref(error))) == OK:
            while lib.forge_engine_next(engine, byref(event)) == OK:
                if event.token >= 0:
                    tokens.append(event.token)
                    logprobs.append(event.logprob)
        if status != ABSENT:
            forge._check(status, error)
        return tokens, logprobs[1:]
    finally:
        lib.forge_engine_free(engine)
        lib.forge_model_free(model)


# --- the forward pass ------------------------------------------------------------------------------------------------

def yarn_scale(factor, scale=1.0):
    return 0.1 * scale * math.log(factor) + 1 if factor > 1 else 1.0


def scale_yarn(frequencies, scaling, base, d, context):
    """Returns the scaled frequencies, and the factor of cosine and sine."""
    factor, original = scaling["factor"], scaling.get("original_max_position_embeddings", context)

    def index(turns):
        return d * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(base))
    low, high = index(scaling.get("beta_fast", 32)), index(scaling.get("beta_slow", 1))
    if scaling.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, d - 1)
    ramp = ((torch.arange(d // 2).double() - low) / (high - low if high != low else 0.001)).clamp(0, 1)
    attention = scaling.get("attention_factor")
    if attention is None and scaling.get("mscale") and scaling.get("mscale_all_dim"):
        attention = yarn_scale(factor, scaling["mscale"]) / yarn_scale(factor, scaling["mscale_all_dim"])
    return frequencies / factor * ramp + frequencies * (1 - ramp), attention or yarn_scale(factor)


def scale_llama3(frequencies, scaling):
    turns = scaling["original_max_position_embeddings"] * frequencies / (2 * math.pi)
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    part = ((turns - low) / (high - low)).clamp(0, 1)
    return frequencies / scaling["factor"] * (1 - part) + frequencies * part


def angles(config, d, count):
    """Returns cosine and sine: [count, d / 2]."""
    scaling = config.get("rope_parameters") or config.get("rope_scaling") or {}
    base = (config.get("rope_parameters") or config).get("rope_theta", 10000.0)
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    frequencies, attention = base ** (-torch.arange(0, d, 2).double() / d), 1.0
    if kind == "linear":
        frequencies = frequencies / scaling["factor"]
    elif kind == "llama3":
        frequencies = scale_llama3(frequencies, scaling)
    elif kind == "yarn":
        frequencies, attention = scale_yarn(frequencies, scaling, base, d, config["max_position_embeddings"])
    angle = torch.arange(count).double()[:, None] * frequencies
    return attention * angle.cos(), attention * angle.sin()


def rotate(x, cosine, sine):
    """x: [heads, t, d]; the elements of a pair are d / 2 apart."""
    first, second = x.chunk(2, -1)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), -1)


def attend(q, k, v):
    """q: [heads, t, d]; k, v: [kv_heads, t, d]. Returns [t, heads * d]."""
    k, v = (x.repeat_interleave(q.shape[0] // x.shape[0], 0) for x in (k, v))
    scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(torch.ones(scores.shape[1:]).triu(1).bool(), -math.inf)
    return (scores.softmax(-1) @ v).transpose(0, 1).flatten(1)


def heads_of(x, d):
    return x.unflatten(-1, (-1, d)).transpose(0, 1)


def rms_norm(x, weight, epsilon):
    return weight * x / (x.pow(2).mean(-1, keepdim=True) + epsilon).sqrt()


def forward_rotary(config, w, tokens):
    """Returns the logits of Llama, Mistral, Qwen2 or Qwen3: [t, vocabulary]. w: weights by name, in f64."""
    epsilon = config["rms_norm_eps"]
    d = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    x, (cosine, sine) = w["model.embed_tokens.weight"][tokens], angles(config, d, len(tokens))
    for layer in range(config["num_hidden_layers"]):
        def linear(name, x):
            return F.linear(x, w[f"{at}{name}.weight"], w.get(f"{at}{name}.bias"))
        at = f"model.layers.{layer}."
        y = rms_norm(x, w[at + "input_layernorm.weight"], epsilon)
        q, k, v = (heads_of(linear(f"self_attn.{name}_proj", y), d) for name in "qkv")
        if at + "self_attn.q_norm.weight" in w:
            q = rms_norm(q, w[at + "self_attn.q_norm.weight"], epsilon)
            k = rms_norm(k, w[at + "self_attn.k_norm.weight"], epsilon)
        y = attend(rotate(q, cosine, sine), rotate(k, cosine, sine), v)
        x = x + linear("self_attn.o_proj", y)
        y = rms_norm(x, w[at + "post_attention_layernorm.weight"], epsilon)
        x = x + linear("mlp.down_proj", F.silu(linear("mlp.gate_proj", y)) * linear("mlp.up_proj", y))
    return F.linear(rms_norm(x, w["model.norm.weight"], epsilon),
                    w.get("lm_head.weight", w["model.embed_tokens.weight"]))


def forward_gpt2(config, w, tokens):
    w = {name.removeprefix("transformer."): tensor for name, tensor in w.items()}
    d = config["n_embd"] // config["n_head"]

    def norm(x, name):
        return F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], config["layer_norm_epsilon"])

    def linear(x, name):
        return x @ w[name + ".weight"] + w[name + ".bias"]
    x = w["wte.weight"][tokens] + w["wpe.weight"][:len(tokens)]
    for layer in range(config["n_layer"]):
        at = f"h.{layer}."
        q, k, v = (heads_of(part, d) for part in linear(norm(x, at + "ln_1"), at + "attn.c_attn").chunk(3, -1))
        x = x + linear(attend(q, k, v), at + "attn.c_proj")
        y = linear(norm(x, at + "ln_2"), at + "mlp.c_fc")
        y = 0.5 * y * (1 + torch.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y ** 3)))
        x = x + linear(y, at + "mlp.c_proj")
    return norm(x, "ln_f") @ w["wte.weight"].T


def log_probabilities(config, weights, tokens):
    forward = forward_gpt2 if config["architectures"] == ["GPT2LMHeadModel"] else forward_rotary
    wide = {name: tensor.double() for name, tensor in weights.items()}
    return forward(config, wide, torch.tensor(tokens)).log_softmax(-1)


# --- random models ---------------------------------------------------------------------------------------------------

SCALINGS = (
    None,
    dict(rope_type="linear", factor=2.5),
    dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
         original_max_position_embeddings=32),
    dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=32),
    dict(rope_type="yarn", factor=6.0, original_max_position_embeddings=24, beta_fast=8.0, beta_slow=2.0,
         truncate=False),
    dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=32, attention_factor=0.7),
    dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=32, mscale=1.5, mscale_all_dim=0.8),
)


def rotary_config(architecture, draw, scaling):
    kv_heads, shared = draw.choice((1, 2, 3)), draw.choice((1, 2, 4))
    d = draw.choice((8, 16, 24, 40))
    config = dict(architectures=[architecture + "ForCausalLM"], num_hidden_layers=draw.choice((1, 3)),
                  hidden_size=kv_heads * shared * d, intermediate_size=draw.choice((40, 96, 200)),
                  num_attention_heads=kv_heads * shared, num_key_value_heads=kv_heads, vocab_size=VOCABULARY,
                  max_position_embeddings=128, rms_norm_eps=draw.choice((1e-5, 1e-6)), hidden_act="silu",
                  tie_word_embeddings=draw.random() < 0.5)
    if architecture == "Qwen3":
        config.update(head_dim=d, hidden_size=draw.choice((48, 64)))
    theta = draw.choice((10000.0, 500000.0))
    if draw.random() < 0.5:
        config["rope_parameters"] = dict(scaling or dict(rope_type="default"), rope_theta=theta)
    else:
        config.update(rope_theta=theta, rope_scaling=scaling)
    return config


def rotary_shapes(config):
    width, hidden = config["hidden_size"], config["intermediate_size"]
    d = config.get("head_dim", width // config["num_attention_heads"])
    q, kv = d * config["num_attention_heads"], d * config["num_key_value_heads"]
    shapes = {"model.embed_tokens.weight": (VOCABULARY, width), "model.norm.weight": (width,)}
    if not config["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (VOCABULARY, width)
    for layer in range(config["num_hidden_layers"]):
        tensors = {"input_layernorm.weight": (width,), "post_attention_layernorm.weight": (width,),
                   "self_attn.q_proj.weight": (q, width), "self_attn.k_proj.weight": (kv, width),
                   "self_attn.v_proj.weight": (kv, width), "self_attn.o_proj.weight": (width, q),
                   "mlp.gate_proj.weight": (hidden, width), "mlp.up_proj.weight": (hidden, width),
                   "mlp.down_proj.weight": (width, hidden)}
        if config["architectures"] == ["Qwen2ForCausalLM"]:
            tensors.update({f"self_attn.{name}_proj.bias": (kv if name in "kv" else q,) for name in "qkv"})
        if config["architectures"] == ["Qwen3ForCausalLM"]:
            tensors.update({"self_attn.q_norm.weight": (d,), "self_attn.k_norm.weight": (d,)})
        shapes.update({f"model.layers.{layer}.{name}": shape for name, shape in tensors.items()})
    return shapes


def gpt2_config(draw):
    heads, d = draw.choice((1, 3, 4)), draw.choice((8, 20))
    return dict(architectures=["GPT2LMHeadModel"], n_layer=draw.choice((1, 3)), n_embd=heads * d, n_head=heads,
                n_positions=96, vocab_size=VOCABULARY, n_inner=draw.choice((None, 72)), layer_norm_epsilon=1e-5,
                activation_function="gelu_new")


def gpt2_shapes(config, prefix):
    width = config["n_embd"]
    hidden = config["n_inner"] or 4 * width
    shapes = {"wte.weight": (VOCABULARY, width), "wpe.weight": (config["n_positions"], width),
              "ln_f.weight": (width,), "ln_f.bias": (width,)}
    for layer in range(config["n_layer"]):
        for name, size in {"attn.c_attn": (width, 3 * width), "attn.c_proj": (width, width),
                           "mlp.c_fc": (width, hidden), "mlp.c_proj": (hidden, width)}.items():
            shapes.update({f"h.{layer}.{name}.weight": size, f"h.{layer}.{name}.bias": size[1:]})
        shapes.update({f"h.{layer}.{name}": (width,)
                       for name in ("ln_1.weight", "ln_1.bias", "ln_2.weight", "ln_2.bias")})
    return {prefix + name: shape for name, shape in shapes.items()}


def new_weights(shapes, dtype):
    weights = {}
    for name, shape in shapes.items():
        noise = torch.randn(shape)
        if len(shape) == 1:
            noise = 1 + 0.2 * noise if "norm" in name or ".ln_" in name and "weight" in name else 0.5 * noise
        elif name.endswith(("embed_tokens.weight", "wte.weight")):
            noise = noise * 2 / math.sqrt(shape[1])  # limits the logits, and with them their rounding
        else:
            noise = noise * 1.5 / math.sqrt(min(shape))
        weights[name] = noise.to(dtype)
    return weights


def write_safetensors(path, weights, dtype_name):
    header, data = {}, b""
    for name, tensor in weights.items():
        kind = torch.float32 if tensor.dtype == torch.float32 else torch.int16
        content = tensor.contiguous().view(kind).numpy().tobytes()
        header[name] = dict(dtype=dtype_name, shape=list(tensor.shape),
                            data_offsets=[len(data), len(data) + len(content)])
        data += content
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


# --- tests -----------------------------------------------------------------------------------------------------------

class TestArchitectures(unittest.TestCase):
    def check(self, config, shapes, dtype_name, seed):
        torch.manual_seed(seed)
        weights = new_weights(shapes, DTYPES[dtype_name])
        prompt = torch.randint(VOCABULARY, (PROMPT,)).tolist()
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
                json.dump(config, file)
            write_safetensors(os.path.join(folder, "model.safetensors"), weights, dtype_name)
            tokens, logprobs = run_engine(folder, prompt)
        self.assertEqual(tokens[:PROMPT], prompt)
        self.assertEqual(len(tokens), PROMPT + ANSWER)
        table = log_probabilities(config, weights, tokens)[:-1]
        expected = table.gather(1, torch.tensor(tokens[1:])[:, None])[:, 0]
        difference = float((torch.tensor(logprobs).double() - expected).abs().max())
        self.assertLessEqual(difference, TOLERANCE, config)
        answer = slice(PROMPT - 1, None)
        self.assertLessEqual(float((table[answer].max(-1).values - expected[answer]).max()), TOLERANCE, config)
        return difference

    def check_rotary(self, architecture):
        largest = 0.0
        for i, scaling in enumerate(SCALINGS * 2):
            draw = random.Random(f"{architecture} {i}")
            config = rotary_config(architecture, draw, scaling)
            dtype_name = draw.choice(list(DTYPES))
            largest = max(largest, self.check(config, rotary_shapes(config), dtype_name, i))
        print(f"{architecture}: largest difference {largest:.1e}")

    def test_llama_equals_pytorch(self):
        self.check_rotary("Llama")

    def test_mistral_equals_pytorch(self):
        self.check_rotary("Mistral")

    def test_qwen2_equals_pytorch(self):
        self.check_rotary("Qwen2")

    def test_qwen3_equals_pytorch(self):
        self.check_rotary("Qwen3")

    def test_gpt2_equals_pytorch(self):
        largest = 0.0
        for i in range(8):
            draw = random.Random(f"GPT-2 {i}")
            config = gpt2_config(draw)
            shapes = gpt2_shapes(config, draw.choice(("", "transformer.")))
            largest = max(largest, self.check(config, shapes, draw.choice(list(DTYPES)), i))
        print(f"GPT-2: largest difference {largest:.1e}")


if __name__ == "__main__":
    unittest.main()
