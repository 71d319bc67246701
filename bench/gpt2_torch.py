#!/usr/bin/env python3
"""The training step of bench/gpt2.c in PyTorch: gpt2_torch.py [STEPS [THREADS]].

Prints the seconds of each step. The first step includes the warm-up."""
import sys
import time

import torch
from torch import nn
from torch.nn import functional

ROWS, CONTEXT, LAYERS, HEADS, WIDTH, VOCABULARY = 4, 64, 12, 12, 768, 50257


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.c_attn, self.c_proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.c_fc, self.mlp_proj = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def attend(self, x):
        rows, tokens, width = x.shape
        q, k, v = (part.view(rows, tokens, HEADS, width // HEADS).transpose(1, 2) for part in self.c_attn(x).split(width, 2))
        if hasattr(functional, "scaled_dot_product_attention"):
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            hidden = torch.triu(torch.ones(tokens, tokens, dtype=torch.bool), 1)
            scores = (q @ k.transpose(2, 3)) * (width // HEADS) ** -0.5
            y = scores.masked_fill(hidden, float("-inf")).softmax(3) @ v
        return self.c_proj(y.transpose(1, 2).reshape(rows, tokens, width))

    def forward(self, x):
        x = x + self.attend(self.ln_1(x))
        return x + self.mlp_proj(functional.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(1024, WIDTH)
        self.h, self.ln_f = nn.Sequential(*(Block() for _ in range(LAYERS))), nn.LayerNorm(WIDTH)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        return self.ln_f(self.h(x)) @ self.wte.weight.t()


def main(steps, threads):
    torch.manual_seed(1)
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)  # as libforge does; otherwise steps take up to four times as long
    model = Gpt()
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-4)
    tokens, following = torch.randint(VOCABULARY, (2, ROWS, CONTEXT))
    for _ in range(steps):
        begin = time.monotonic()
        optimiser.zero_grad(set_to_none=True)
        functional.cross_entropy(model(tokens).view(-1, VOCABULARY), following.view(-1)).backward()
        optimiser.step()
        print(f"{time.monotonic() - begin:.3f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4, int(sys.argv[2]) if len(sys.argv) > 2 else 2)
