#!/usr/bin/env python3
"""Checks that the same networks, weights, batches and learning rates in PyTorch give the same losses,
parameters and running statistics.

In f64 100 steps are compared. In f32 only 20 steps are compared, because rounding errors grow with each step.
Note: dropout is off. If the loss does not depend on a parameter, such as a bias before a batch norm, its
gradient is only rounding errors, and AdamW turns these into full steps. In f32 such parameters ("unsteered")
are not compared.
"""
import unittest
import warnings

import run_support
from torch_peer import difference, distance, forge, numpy, torch

F = torch.nn.functional
N = forge.NUMBER
STEPS = {"f64": 100, "f32": 20}
# Seeds of initial weights; for f32 there are several, because one choice could pass by chance.
SEEDS = {"f64": (7,), "f32": range(1, 5)}
LOSS = {"f64": 1e-8, "f32": 1e-4}    # allowed relative error of the loss
# Largest difference relative to the largest element. For f32 the root mean square is compared, with a wide
# tolerance: AdamW moves single elements by the sign of a rounding. Parameters of GPT have differed by 1.9e-4
# while losses differed by 5e-7, so the claim for f32 is about losses.
STATES = {"f64": 1e-6, "f32": 1e-3}
APART = {"f64": difference, "f32": distance}
NUMPY_TYPES = {"f64": "f8", "f32": "f4"}
TORCH_TYPES = {"f64": torch.float64, "f32": torch.float32}


# --- models: as a builder makes them, and as a torch.nn.Module with the same names -----------------------------------

class Images:
    """Inputs of classes that can be learnt: each class has its own pattern plus noise."""
    unsteered = ()

    @classmethod
    def batches(cls, dtype):
        rng = numpy.random.default_rng(11)
        patterns = rng.standard_normal((cls.classes, *cls.input[1:]))
        while True:
            labels = rng.integers(cls.classes, size=cls.input[0])
            yield (patterns[labels] + rng.standard_normal(cls.input)).astype(NUMPY_TYPES[dtype]), labels

    @classmethod
    def loss(cls, b, dtype):
        x = b.input("x", N[dtype.upper()], cls.input)
        return b.cross_entropy(cls.logits(b, x), b.input("labels", N["I64"], cls.input[:1]))


class TorchMlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = (torch.nn.Linear(a, b) for a, b in ((20, 33), (33, 17), (17, 5)))

    def forward(self, x):
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


class Mlp(Images):
    name, torch_model, input, classes = "MLP", TorchMlp, (16, 20), 5

    @staticmethod
    def logits(b, x):
        return b.mlp(None, x, (33, 17, 5), 3)


class TorchCnn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = torch.nn.Conv2d(2, 4, 3), torch.nn.Conv2d(4, 6, 3)
        self.fc1, self.fc2 = torch.nn.Linear(24, 12), torch.nn.Linear(12, 7)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class Cnn(Images):
    name, torch_model, input, classes = "CNN", TorchCnn, (8, 2, 16, 16), 7

    @staticmethod
    def logits(b, x):
        return b.cnn(None, x, (4, 6, 12, 7))


class TorchNormCnn(torch.nn.Module):
    activation = staticmethod(F.relu)

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2, self.conv3 = (torch.nn.Conv2d(a, b, 3) for a, b in ((1, 8), (8, 16), (16, 24)))
        self.norm1, self.norm2 = torch.nn.BatchNorm2d(24), torch.nn.BatchNorm1d(6)
        self.fc1, self.fc2 = torch.nn.Linear(24 * 2 * 2, 32), torch.nn.Linear(32, 6)

    def forward(self, x):
        f = self.activation
        x = self.norm1(f(self.conv3(f(self.conv2(f(self.conv1(x)))))))
        return self.norm2(self.fc2(f(self.fc1(x.flatten(1)))))


class NormCnn(Images):
    """The layers of forge_norm_cnn without dropout. After training, forge_norm_cnn itself is used."""
    name, torch_model, input, classes, activation = "CNN with BatchNorm", TorchNormCnn, (16, 1, 8, 8), 6, "relu"
    unsteered = ("fc2.bias", "norm2.running_mean")

    @classmethod
    def logits(cls, b, x):
        for name, channels in (("conv1", 8), ("conv2", 16), ("conv3", 24)):
            x = b.unary_of(cls.activation, b.conv2d(name, x, channels, 3, 1, 0, True))
        x = b.reshape(b.batch_norm("norm1", x, 0.1, 1e-5, True), (cls.input[0], 24 * 2 * 2))
        x = b.linear("fc2", b.unary_of(cls.activation, b.linear("fc1", x, 32, True)), 6, True)
        return b.batch_norm("norm2", x, 0.1, 1e-5, True)


class TorchSmoothNormCnn(TorchNormCnn):
    activation = staticmethod(torch.tanh)


class SmoothNormCnn(NormCnn):
    """NormCnn for f32. With relu, an element that is rounded to the other side of 0 changes a gradient by its
    whole value. For a third of the initial weights, losses then differ by some hundredths. PyTorch's own f32
    and f64 differ as much."""
    name, torch_model, activation = "CNN with BatchNorm and tanh", TorchSmoothNormCnn, "tanh"


class Rows(torch.nn.Module):
    """A linear layer of GPT-2, whose weight has the shape [in, out]."""

    def __init__(self, width, out):
        super().__init__()
        self.weight, self.bias = (torch.nn.Parameter(torch.zeros(shape)) for shape in ((width, out), (out,)))

    def forward(self, x):
        return x @ self.weight + self.bias


class TorchAttention(torch.nn.Module):
    def __init__(self, o):
        super().__init__()
        self.sizes = [heads * o.width // o.heads for heads in (o.heads, o.kv_heads, o.kv_heads)]
        self.d, self.shared = o.width // o.heads, o.heads // o.kv_heads
        self.c_attn, self.c_proj = Rows(o.width, sum(self.sizes)), Rows(o.width, o.width)

    def forward(self, x):
        n, t, width = x.shape
        q, k, v = (part.view(n, t, -1, self.d).transpose(1, 2) for part in self.c_attn(x).split(self.sizes, 2))
        k, v = (part.repeat_interleave(self.shared, 1) for part in (k, v))
        hidden = torch.ones(t, t, dtype=torch.bool).triu(1)
        weights = (q @ k.transpose(2, 3) / self.d ** 0.5).masked_fill(hidden, -float("inf")).softmax(3)
        return self.c_proj((weights @ v).transpose(1, 2).reshape(n, t, width))


class TorchPerceptron(torch.nn.Module):
    def __init__(self, o):
        super().__init__()
        self.c_fc, self.c_proj = Rows(o.width, 4 * o.width), Rows(4 * o.width, o.width)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class TorchBlock(torch.nn.Module):
    def __init__(self, o):
        super().__init__()
        self.ln_1, self.ln_2 = torch.nn.LayerNorm(o.width), torch.nn.LayerNorm(o.width)
        self.attn, self.mlp = TorchAttention(o), TorchPerceptron(o)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class TorchGpt(torch.nn.Module):
    def __init__(self, o):
        super().__init__()
        self.wte, self.wpe = torch.nn.Embedding(o.vocabulary, o.width), torch.nn.Embedding(o.context, o.width)
        self.h = torch.nn.ModuleList(TorchBlock(o) for _ in range(o.layers))
        self.ln_f = torch.nn.LayerNorm(o.width)
        if o.untied_lm_head:
            self.lm_head = torch.nn.Linear(o.width, o.vocabulary, bias=False)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe.weight[:tokens.shape[1]]
        for block in self.h:
            x = block(x)
        return F.linear(self.ln_f(x), getattr(self, "lm_head", self.wte).weight).flatten(0, 1)


class Gpt:
    """A GPT. Most tokens follow from the previous one by a rule. A bias common to all keys has no effect, so
    it is unsteered."""
    name, batch, context = "GPT", 3, 14
    members = {"layers": 2, "heads": 3, "kv_heads": 3, "vocabulary": 29, "context": 16, "width": 24}
    unsteered = ("h.0.attn.c_attn.bias", "h.1.attn.c_attn.bias")

    @classmethod
    def options(cls, dtype):
        return forge.options(forge.Gpt, is_training=True, dtype=N[dtype.upper()], **cls.members)

    @classmethod
    def torch_model(cls):
        return TorchGpt(cls.options("f64"))

    @classmethod
    def batches(cls, _):
        rng, count = numpy.random.default_rng(11), cls.members["vocabulary"]
        while True:
            tokens = [rng.integers(count, size=cls.batch)]
            for _ in range(cls.context):
                chance = rng.integers(count, size=cls.batch)
                tokens.append(numpy.where(rng.random(cls.batch) < 0.1, chance, (5 * tokens[-1] + 3) % count))
            tokens = numpy.stack(tokens, 1)
            yield tokens[:, :-1], tokens[:, 1:].flatten()

    @classmethod
    def loss(cls, b, dtype):
        rows = cls.batch * cls.context
        logits = b.gpt(None, b.input("x", N["I64"], (cls.batch, cls.context)), cls.options(dtype))
        labels = b.input("labels", N["I64"], (rows,))
        return b.cross_entropy(b.reshape(logits, (rows, cls.members["vocabulary"])), labels)


class GroupedGpt(Gpt):
    name = "GPT, grouped queries, own head"
    members = {**Gpt.members, "heads": 6, "kv_heads": 2, "untied_lm_head": True}


# --- optimisers --------------------------------------------------------------------------------------------------

class Sgd:
    name, clip = "SGD, momentum, Nesterov, decay", 0

    @staticmethod
    def add(b, loss, rate):
        b.sgd(loss, rate, forge.options(forge.Sgd, nesterov=True, momentum=0.9, weight_decay=1e-2))

    @staticmethod
    def of(model):
        return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-2)

    schedule = forge.options(forge.Schedule, kind=N["SCHEDULE_STEP"], rate=0.05, factor=0.7, period_steps=30)

    @staticmethod
    def scheduler(optimiser):
        return torch.optim.lr_scheduler.StepLR(optimiser, 30, 0.7)


class AdamW:
    """AdamW without decay of vectors, with clipped gradients and a cosine learning rate."""
    name, clip, epsilon = "AdamW, clipped, two groups", 0.5, 1e-8

    @classmethod
    def add(cls, b, loss, rate):
        groups = (forge.Group * 1)(forge.Group(ranks=1 << 1, has_no_decay=True))
        b.adamw(loss, rate, forge.options(forge.AdamW, beta1=0.9, beta2=0.99, epsilon=cls.epsilon, weight_decay=0.1,
                                          max_norm=cls.clip, groups=groups, group_count=1))

    @classmethod
    def of(cls, model):
        groups = [{"params": [p for p in model.parameters() if (p.ndim == 1) == flat], "weight_decay": decay}
                  for flat, decay in ((True, 0.0), (False, 0.1))]
        return torch.optim.AdamW(groups, lr=3e-3, betas=(0.9, 0.99), eps=cls.epsilon)

    schedule = forge.options(forge.Schedule, kind=N["SCHEDULE_COSINE"], rate=3e-3, last_rate=1e-4, steps=100)

    @staticmethod
    def scheduler(optimiser):
        return torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 100, 1e-4)


# --- trainings ---------------------------------------------------------------------------------------------------

class Ours:
    """Training with TensorForge: a model's program and its states."""

    def __init__(self, model, optimiser, dtype, seed):
        self.states = forge.States(seed)
        b = forge.Builder()
        loss = model.loss(b, dtype)
        b.output("loss", loss)
        optimiser.add(b, loss, b.input("rate", N["F64"], ()))
        self.program = forge.Program(b, self.states)

    def step(self, x, labels, rate):
        self.program.run(x=x, labels=labels, rate=numpy.array(rate))
        return float(self.program["loss"])

    def close(self):
        self.program.close()
        self.states.close()


class Theirs:
    """The same training in PyTorch, with our initial weights."""

    def __init__(self, model, optimiser, dtype, states):
        self.model, self.clip = model.torch_model().to(TORCH_TYPES[dtype]), optimiser.clip
        self.model.load_state_dict({name: torch.tensor(states[name].copy()) for name in self.model.state_dict()})
        self.optimiser = optimiser.of(self.model)
        self.scheduler = optimiser.scheduler(self.optimiser)

    def step(self, x, labels):
        self.optimiser.zero_grad()
        loss = F.cross_entropy(self.model(torch.tensor(x)), torch.tensor(labels))
        loss.backward()
        if self.clip:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimiser.step()
        self.scheduler.step()
        return float(loss.detach())


class Trainings(unittest.TestCase):
    def train(self, model, optimiser, dtype, seed=SEEDS["f64"][0]):
        """Runs both trainings step by step. Our program is freed at the end of the test."""
        ours = Ours(model, optimiser, dtype, seed)
        self.addCleanup(ours.close)
        theirs = Theirs(model, optimiser, dtype, ours.states)
        losses = []
        for step, (x, labels) in zip(range(STEPS[dtype]), model.batches(dtype)):
            rate = forge.schedule_rate(optimiser.schedule, step)
            losses.append((ours.step(x, labels, rate), theirs.step(x, labels)))
        apart = max(abs(own - other) / other for own, other in losses)
        states = {name: APART[dtype](ours.states[name], value) for name, value in theirs.model.state_dict().items()
                  if dtype == "f64" or name not in model.unsteered}
        name = max(states, key=states.get)
        print(f"\n{model.name}, {optimiser.name}, {dtype}, seed {seed}, {len(losses)} steps, loss {losses[0][1]:.3f} to "
              f"{losses[-1][1]:.3f}: loss {apart:.1e}, states {states[name]:.1e} ({name})", flush=True)
        self.assertLessEqual(apart, LOSS[dtype])
        self.assertLessEqual(states[name], STATES[dtype], name)
        if dtype == "f64":
            self.assertLess(sum(own for own, _ in losses[-5:]), 0.8 * sum(own for own, _ in losses[:5]),
                            "nothing was learnt, so little was shown")
        return ours, theirs

    def train_with_all_seeds(self, model, optimiser, dtype):
        for seed in SEEDS[dtype]:
            with self.subTest(f"{model.name}, {optimiser.name}, {dtype}, seed {seed}"):
                self.train(model, optimiser, dtype, seed)

    def train_in_both_types(self, model, optimiser):
        for dtype in STEPS:
            self.train_with_all_seeds(model, optimiser, dtype)

    def test_mlp_trains_as_in_pytorch(self):
        self.train_in_both_types(Mlp, Sgd)
        self.train_in_both_types(Mlp, AdamW)

    def test_cnn_trains_as_in_pytorch(self):
        self.train_in_both_types(Cnn, Sgd)

    def test_gpt_trains_as_in_pytorch(self):
        self.train_in_both_types(Gpt, AdamW)
        self.train_in_both_types(GroupedGpt, AdamW)

    def test_cnn_with_batch_norm_trains_as_in_pytorch(self):
        self.train(NormCnn, Sgd, "f64")
        self.train_with_all_seeds(SmoothNormCnn, AdamW, "f32")
        self.compare_by_running_statistics(*self.train(NormCnn, AdamW, "f64"))

    def compare_by_running_statistics(self, ours, theirs):
        x = next(NormCnn.batches("f64"))[0]
        b = forge.Builder()
        b.output("y", b.norm_cnn(None, b.input("x", N["F64"], NormCnn.input), NormCnn.classes, False))
        program = forge.Program(b, ours.states)
        program.run(x=x)
        theirs.model.eval()
        self.assertLessEqual(difference(program["y"], theirs.model(torch.tensor(x))), STATES["f64"])
        program.close()


class Schedules(unittest.TestCase):
    """Compares forge_schedule_rate with torch.optim.lr_scheduler, which computes each rate from the previous
    one."""
    STEPS = 120

    def compare(self, make, **members):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.4)
            scheduler = make(torch.optim.lr_scheduler, optimiser)
            schedule = forge.options(forge.Schedule, rate=0.4, **members)
            for step in range(self.STEPS):
                wanted = optimiser.param_groups[0]["lr"]
                rate = forge.schedule_rate(schedule, step)
                self.assertAlmostEqual(rate, wanted, delta=1e-12, msg=f"step {step}")
                optimiser.step()
                scheduler.step()

    def test_constant_rate_equals_pytorch(self):
        self.compare(lambda s, o: s.LambdaLR(o, lambda _: 1), kind=N["SCHEDULE_CONSTANT"])

    def test_linear_schedule_equals_pytorch(self):
        self.compare(lambda s, o: s.LinearLR(o, 1, 0.1, 90), kind=N["SCHEDULE_LINEAR"], last_rate=0.04, steps=90)

    def test_cosine_schedule_equals_pytorch(self):
        self.compare(lambda s, o: s.CosineAnnealingLR(o, self.STEPS, 0.01), kind=N["SCHEDULE_COSINE"], last_rate=0.01,
                     steps=self.STEPS)

    def test_step_schedule_equals_pytorch(self):
        self.compare(lambda s, o: s.StepLR(o, 7, 0.8), kind=N["SCHEDULE_STEP"], factor=0.8, period_steps=7)

    def test_exponential_schedule_equals_pytorch(self):
        self.compare(lambda s, o: s.ExponentialLR(o, 0.97), kind=N["SCHEDULE_EXPONENTIAL"], factor=0.97)

    def test_warm_up_and_cosine_equal_pytorch(self):
        self.compare(lambda s, o: s.SequentialLR(o, [s.LinearLR(o, 1 / 20, 1, 19),
                                                     s.CosineAnnealingLR(o, self.STEPS - 20, 0.01)], [20]),
                     kind=N["SCHEDULE_COSINE"], last_rate=0.01, steps=self.STEPS, warm_up_steps=20)


if __name__ == "__main__":
    run_support.main()
