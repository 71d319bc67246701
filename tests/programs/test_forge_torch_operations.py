#!/usr/bin/env python3
"""Compares each operation and layer with PyTorch's in f64: values, gradients, and gradients of gradients, for
random numbers.

Contains the names of the operations in PyTorch. Note: a case is one expression that both libraries compute.
Gradients are taken of a random weighted sum of the result. Gradients of gradients are taken of a random
weighted sum of the gradients.
"""
import unittest

import run_support
from torch_peer import difference, forge, numpy, torch

F = torch.nn.functional
N = forge.NUMBER
# Limits of the errors of values, gradients, and gradients of gradients, for numbers of about 1.
LIMIT = (1e-12, 1e-12, 1e-11)


class Case:
    """A case. inputs: arrays. parameters: {slot: array}; in PyTorch a parameter has the last word of the
    slot's name, for example "weight". orders: number of times that floats are differentiated."""

    def __init__(self, ours, theirs, *inputs, parameters=None, orders=2):
        self.ours, self.theirs, self.inputs, self.parameters, self.orders = ours, theirs, inputs, parameters or {}, orders

    def leaves(self):
        return [*self.inputs, *self.parameters.values()]

    def wrt(self):
        return [i for i, leaf in enumerate(self.leaves()) if leaf.dtype.kind == "f"]


def of_torch(case):
    """Computes a case in PyTorch. Returns results of order 0, 1, 2 (value, gradients, gradients of
    gradients), and the weights of their sums."""
    rng = numpy.random.default_rng(99)
    leaves = [torch.tensor(leaf, requires_grad=leaf.dtype.kind == "f") for leaf in case.leaves()]
    count = len(case.inputs)
    result = case.theirs(*leaves[:count], **dict(zip((n.split(".")[-1] for n in case.parameters), leaves[count:])))
    orders, weights = [[result]], []
    wrt = [leaves[i] for i in case.wrt()]
    while len(orders) <= case.orders and wrt:
        weights.append([rng.standard_normal(tuple(v.shape)) for v in orders[-1]])
        if not any(v.requires_grad for v in orders[-1]):
            orders.append([torch.zeros_like(leaf) for leaf in wrt])
            continue
        total = sum((v * torch.tensor(w)).sum() for v, w in zip(orders[-1], weights[-1]))
        found = torch.autograd.grad(total, wrt, create_graph=True, allow_unused=True)
        orders.append([torch.zeros_like(leaf) if g is None else g + 0 for g, leaf in zip(found, wrt)])
    return orders, weights


def of_forge(case, weights):
    states, b = forge.States(), forge.Builder()
    inputs = [b.input(f"x{i}", forge.dtype_number(x.dtype), x.shape) for i, x in enumerate(case.inputs)]
    orders = [[case.ours(b, *inputs)]]
    leaves = inputs + [parameter(b, name, array) for name, array in case.parameters.items()]
    wrt = [leaves[i] for i in case.wrt()]
    for row in weights:
        total = b.scalar(N["F64"], 0.0)
        for value, weight in zip(orders[-1], row):
            product = b.binary_of("mul", value, b.constant_of(weight))
            total = b.binary_of("add", total, b.reduce(N["SUM"], product, (1 << weight.ndim) - 1, False))
        orders.append(b.gradients_of(total, wrt))
    for i, order in enumerate(orders):
        for k, value in enumerate(order):
            b.output(f"y{i}.{k}", value)
    program = forge.Program(b, states)
    for name, array in case.parameters.items():
        states[name][...] = array
    program.run(**{f"x{i}": x for i, x in enumerate(case.inputs)})
    results = [[program[f"y{i}.{k}"] for k in range(len(order))] for i, order in enumerate(orders)]
    program.close()
    states.close()
    return results


def parameter(b, name, array):
    """Returns the value that a layer has created already."""
    scope, _, own = name.rpartition(".")
    b.scope_push(scope)
    value = b.parameter(own, forge.dtype_number(array.dtype), array.shape, forge.Init())
    b.scope_pop()
    return value


class Operations(unittest.TestCase):
    def setUp(self):
        self.rng, self.worst, self.cases = numpy.random.default_rng(5), [0.0, 0.0, 0.0], 0
        self.addCleanup(lambda: print(f"{self.cases} cases; largest differences of values {self.worst[0]:.1e}, "
                                      f"gradients {self.worst[1]:.1e}, second {self.worst[2]:.1e}", flush=True))

    def normal(self, *dims):
        return self.rng.standard_normal(dims)

    def positive(self, *dims):
        return self.rng.uniform(0.2, 3, dims)

    def compare(self, name, ours, theirs, *inputs, **more):
        case = Case(ours, theirs, *inputs, **more)
        with self.subTest(name):
            wanted, weights = of_torch(case)
            for order, (row, expected) in enumerate(zip(of_forge(case, weights), wanted)):
                for got, value in zip(row, expected):
                    apart = difference(got, value, floor=1.0)
                    self.worst[order] = max(self.worst[order], apart)
                    self.assertLessEqual(apart, LIMIT[order], f"{name}, derivative {order}")
            self.cases += 1

    # --- element by element --------------------------------------------------------------------------------------

    UNARY = {"neg": torch.neg, "abs": torch.abs, "reciprocal": torch.reciprocal, "square": torch.square,
             "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "exp": torch.exp, "expm1": torch.expm1, "log": torch.log,
             "log1p": torch.log1p, "sin": torch.sin, "cos": torch.cos, "erf": torch.erf, "floor": torch.floor,
             "ceil": torch.ceil, "round": torch.round, "not": torch.logical_not, "relu": F.relu,
             "sigmoid": torch.sigmoid, "tanh": torch.tanh, "silu": F.silu, "gelu": F.gelu, "is_nan": torch.isnan,
             "softplus": lambda x: F.softplus(x, threshold=800),
             "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
             "sign": lambda x: torch.where(x.isnan(), x, x.sign())}  # PyTorch's sign() returns 0 for NaN
    OF_POSITIVE = ("sqrt", "rsqrt", "log", "log1p")
    EDGES = numpy.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 1e-300, -1e-300, 1e300, -1e300, 30.0, -30.0, 700.0,
                         -700.0, float("inf"), -float("inf")])

    def test_unary_operations_equal_pytorch(self):
        self.assertEqual(set(self.UNARY), set(forge.UNARY))
        for kind, theirs in self.UNARY.items():
            ours = lambda b, v: b.unary_of(kind, v)  # noqa: E731
            x = self.positive(3, 5, 7) if kind in self.OF_POSITIVE else 3 * self.normal(3, 5, 7)
            has_slope = kind not in ("not", "is_nan")
            self.compare(kind, ours, theirs, x > 0 if kind == "not" else x, orders=2 if has_slope else 0)
            if kind != "not":
                edges = numpy.abs(self.EDGES) if kind in self.OF_POSITIVE else self.EDGES
                self.compare(kind + " at edges", ours, theirs, edges, orders=1 if has_slope else 0)
                self.compare(kind + " beyond", ours, theirs, numpy.append(self.EDGES, float("nan")), orders=0)

    BINARY = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "pow": torch.pow,
              "max": torch.maximum, "min": torch.minimum, "mod": torch.remainder, "and": torch.logical_and,
              "or": torch.logical_or, "xor": torch.logical_xor, "eq": torch.eq, "ne": torch.ne, "lt": torch.lt,
              "le": torch.le, "gt": torch.gt, "ge": torch.ge}
    PAIRS = (((3, 5, 7), (3, 5, 7)), ((3, 1, 7), (5, 1)), ((), (4, 3)), ((6,), ()), ((2, 0, 3), (1, 3)), ((1, 1), (7, 1, 5)))

    def test_binary_operations_equal_pytorch(self):
        self.assertEqual(set(self.BINARY), set(forge.BINARY))
        for kind, theirs in self.BINARY.items():
            for dims in self.PAIRS:
                x, y = self.positive(*dims[0]), self.normal(*dims[1])
                if kind in ("div", "mod"):
                    y = numpy.copysign(y * y + 0.3, y)
                if kind in ("and", "or", "xor"):
                    x, y = numpy.asarray(x > 1.5), numpy.asarray(y > 0)
                has_slope = forge.BINARY[kind] <= forge.BINARY["mod"]
                self.compare(f"{kind} {dims}", lambda b, v, w: b.binary_of(kind, v, w), theirs, numpy.asarray(x),
                             numpy.asarray(y), orders=2 if has_slope else 0)

    @staticmethod
    def all_pairs(*numbers):
        return [part.flatten() for part in numpy.meshgrid(numpy.array(numbers), numpy.array(numbers))]

    def test_binary_operations_at_edges_equal_pytorch(self):
        finite = self.all_pairs(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 0.1, 0.3)
        others = self.all_pairs(0.0, -0.0, 1.0, -2.0, 1e300, -1e300, float("inf"), -float("inf"), float("nan"))
        for kind, theirs in self.BINARY.items():
            if kind in ("and", "or", "xor"):
                continue
            ours = lambda b, v, w: b.binary_of(kind, v, w)  # noqa: E731
            has_slope = forge.BINARY[kind] <= forge.BINARY["mod"]
            defined = finite[1] != 0 if kind == "mod" else slice(None)  # PyTorch's gradients are NaN if the divisor is 0
            self.compare(kind, ours, theirs, finite[0][defined], finite[1][defined], orders=1 if has_slope else 0)
            self.compare(kind + " beyond", ours, theirs, *others, orders=0)

    def test_select_and_cast_equal_pytorch(self):
        self.compare("select", lambda b, c, x, y: b.select(c, x, y), torch.where, self.normal(5, 1) > 0, self.normal(2, 1, 7),
                     self.normal(5, 7))
        for dtype, theirs in (("F32", torch.float32), ("F16", torch.float16), ("BF16", torch.bfloat16)):
            self.compare(dtype, lambda b, x, dtype=dtype: b.cast(N["F64"], b.cast(N[dtype], x)),
                         lambda x, theirs=theirs: x.to(theirs).to(torch.float64), self.normal(3, 5), orders=0)
        for dtype, theirs in (("I32", torch.int32), ("I64", torch.int64), ("BOOL", torch.bool), ("I8", torch.int8)):
            self.compare(dtype, lambda b, x, dtype=dtype: b.cast(N[dtype], x), lambda x, theirs=theirs: x.to(theirs),
                         9 * self.normal(3, 5), orders=0)

    # --- across elements -----------------------------------------------------------------------------------------

    @staticmethod
    def product(x, dim, keepdim):
        for axis in reversed(dim):
            x = x.prod(axis, keepdim=keepdim)
        return x

    def test_reductions_equal_pytorch(self):
        kinds = {"SUM": torch.sum, "MEAN": torch.mean, "MAXIMUM": torch.amax, "MINIMUM": torch.amin, "PRODUCT": self.product}
        for dims in ((3, 5, 7), (1, 9, 1), (33,), (2, 3, 4, 5)):
            for axes in range(1, 1 << len(dims)):
                picked = [k for k in range(len(dims)) if axes >> k & 1]
                for kind, theirs in kinds.items():
                    keeps = bool(self.rng.integers(2))
                    self.compare(f"{kind} {dims} {picked} {keeps}", lambda b, x: b.reduce(N[kind], x, axes, keeps),
                                 lambda x: theirs(x, dim=picked, keepdim=keeps), self.normal(*dims))
        for axis in range(3):
            self.compare("argmax", lambda b, x: b.reduce(N["ARGMAX"], x, 1 << axis, False),
                         lambda x: torch.argmax(x, axis), self.normal(3, 5, 7), orders=0)

    def test_reductions_of_empty_equal_and_zero_elements_equal_pytorch(self):
        for kind, theirs in (("SUM", torch.sum), ("MEAN", torch.mean), ("PRODUCT", self.product)):
            self.compare(kind + " of nothing", lambda b, x: b.reduce(N[kind], x, 2, False),
                         lambda x: theirs(x, dim=[1], keepdim=False), self.normal(3, 0, 2), orders=1)
        equals = numpy.array([[1.0, 2, 2, 0], [3, 3, 3, 3], [0, -1, 0, -1]])
        for kind, theirs in (("MAXIMUM", torch.amax), ("MINIMUM", torch.amin), ("PRODUCT", self.product)):
            self.compare(kind + " of equals", lambda b, x: b.reduce(N[kind], x, 2, False),
                         lambda x: theirs(x, dim=[1], keepdim=False), equals, orders=1)

    @staticmethod
    def scanned(theirs, first, axis, flags):
        """Computes a scan in PyTorch, with the flags of our scan."""
        def run(x):
            x = x.flip(axis) if flags & N["SCAN_REVERSE"] else x
            y = theirs(x, axis)
            if flags & N["SCAN_EXCLUSIVE"]:
                y = torch.cat([torch.full_like(y.narrow(axis, 0, 1), first), y.narrow(axis, 0, y.shape[axis] - 1)], axis)
            return y.flip(axis) if flags & N["SCAN_REVERSE"] else y
        return run

    def test_scans_equal_pytorch(self):
        low = float("-inf")
        kinds = {"SUM": (torch.cumsum, 0), "PRODUCT": (torch.cumprod, 1),
                 "MAXIMUM": (lambda x, axis: torch.cummax(x, axis)[0], low),
                 "MINIMUM": (lambda x, axis: torch.cummin(x, axis)[0], -low)}
        for kind, (theirs, first) in kinds.items():
            for axis in range(3):
                for flags in range(4):
                    self.compare(f"{kind} {axis} {flags}", lambda b, x: b.scan(N[kind], x, axis, flags),
                                 self.scanned(theirs, first, axis, flags), self.normal(3, 5, 7))

    def test_products_with_zeros_equal_pytorch(self):
        x = self.normal(4, 6)
        x[1, 2] = x[2, 0] = x[2, 5] = x[3, 5] = 0
        self.compare("product", lambda b, v: b.reduce(N["PRODUCT"], v, 2, False), lambda v: v.prod(1), x, orders=1)
        for flags in range(4):
            self.compare(f"scan {flags}", lambda b, v: b.scan(N["PRODUCT"], v, 1, flags),
                         self.scanned(torch.cumprod, 1, 1, flags), x, orders=1)

    def test_sorts_equal_pytorch(self):
        slot = forge.c_uint32
        x = self.normal(4, 7, 3)
        for axis in range(3):
            for falls in (False, True):
                self.compare("sort", lambda b, v: b.sort(v, axis, falls, None),
                             lambda v: torch.sort(v, dim=axis, descending=falls, stable=True)[0], x)

                def places(b, v):
                    out = slot()
                    b.sort(v, axis, falls, out)
                    return out.value
                self.compare("places", places, lambda v: torch.sort(v, dim=axis, descending=falls, stable=True)[1],
                             numpy.round(2 * x), orders=0)
            self.compare("top_k", lambda b, v: b.top_k(v, 2, axis, None), lambda v: torch.topk(v, 2, axis)[0], x)

    def test_matrix_products_equal_pytorch(self):
        for m, k, n in ((1, 1, 1), (5, 7, 3), (17, 33, 9), (4, 0, 3), (1, 65, 31)):
            for flags in range(4):
                for batch in (((), ()), ((3,), (3,)), ((2, 1), (3,)), ((), (2,))):
                    a = self.normal(*batch[0], *((k, m) if flags & 1 else (m, k)))
                    c = self.normal(*batch[1], *((n, k) if flags & 2 else (k, n)))
                    self.compare(f"{m} {k} {n} {flags} {batch}", lambda b, x, y: b.matmul(x, y, flags),
                                 lambda x, y: (x.mT if flags & 1 else x) @ (y.mT if flags & 2 else y), a, c)

    # --- windows -------------------------------------------------------------------------------------------------

    def test_convolutions_equal_pytorch(self):
        functions = (F.conv1d, F.conv2d, F.conv3d)
        transposed = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)
        for i in range(90):
            spatial, groups = i % 3 + 1, int(self.rng.integers(1, 4))
            draw = lambda low, high: [int(v) for v in self.rng.integers(low, high, spatial)]  # noqa: E731
            kernel, stride, dilation, before = draw(1, 4), draw(1, 4), draw(1, 3), draw(0, 3)
            size = [d * (k - 1) + 1 + int(self.rng.integers(0, 5)) for d, k in zip(dilation, kernel)]
            n, ins, outs = (int(self.rng.integers(1, 4)) * times for times in (1, groups, groups))
            x = self.normal(n, ins, *size)
            if i % 2:
                after = draw(0, 3)
                options = self.conv_options(groups, stride, dilation, before, after)
                pads = [p for pair in reversed(list(zip(before, after))) for p in pair]
                self.compare(f"conv {i}", lambda b, v, w: b.conv(v, w, options),
                             lambda v, w: functions[spatial - 1](F.pad(v, pads), w, None, stride, 0, dilation, groups),
                             x, self.normal(outs, ins // groups, *kernel))
                continue
            extra = [int(self.rng.integers(0, max(s, d))) for s, d in zip(stride, dilation)]
            before = [min(p, (d * (k - 1) + (v - 1) * s + e) // 2)
                      for p, d, k, v, s, e in zip(before, dilation, kernel, size, stride, extra)]
            options = self.conv_options(groups, stride, dilation, before, before, extra)
            self.compare(f"transposed {i}", lambda b, v, w: b.conv(v, w, options),
                         lambda v, w: transposed[spatial - 1](v, w, None, stride, before, extra, groups, dilation),
                         x, self.normal(ins, outs // groups, *kernel))

    @staticmethod
    def conv_options(groups, stride, dilation, before, after, extra=None):
        three = lambda values: (forge.c_uint32 * 3)(*values)  # noqa: E731
        return forge.options(forge.ConvOptions, groups=groups, stride=three(stride), dilation=three(dilation),
                             before=three(before), after=three(after), output_padding=three(extra or ()),
                             is_transposed=extra is not None)

    def test_pools_equal_pytorch(self):
        largest, means = (F.max_pool1d, F.max_pool2d, F.max_pool3d), (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)
        for spatial in (1, 2, 3):
            for size, stride, padding in ((2, 2, 0), (3, 2, 1), (2, 3, 1), (3, 1, 0), (4, 3, 2)):
                x = self.normal(2, 3, *(7, 9, 8)[:spatial])
                self.compare(f"max {size} {stride} {padding}", lambda b, v: b.max_pool(v, size, stride, padding),
                             lambda v: largest[spatial - 1](v, size, stride, padding), x)
                for counts in (False, True):
                    self.compare(f"mean {size} {stride} {padding} {counts}",
                                 lambda b, v: b.avg_pool(v, size, stride, padding, counts),
                                 lambda v: means[spatial - 1](v, size, stride, padding, False, counts), x)

    def test_dilated_windows_equal_pytorch(self):
        for size, stride, dilation, padding in (((2, 3), (1, 2), (2, 1), (0, 1)), ((3, 2), (2, 2), (1, 3), (1, 0))):
            windows = [forge.Window(k, s, d, p, p) for k, s, d, p in zip(size, stride, dilation, padding)]
            x, name = self.normal(2, 3, 8, 9), f"{size} {stride} {dilation} {padding}"
            self.compare("max " + name, lambda b, v: b.window_reduce(N["MAXIMUM"], v, 12, windows, False),
                         lambda v: F.max_pool2d(v, size, stride, padding, dilation), x)
            self.compare("min " + name, lambda b, v: b.window_reduce(N["MINIMUM"], v, 12, windows, False),
                         lambda v: -F.max_pool2d(-v, size, stride, padding, dilation), x)
            unfold = lambda v: F.unfold(v, size, dilation, padding, stride)  # noqa: E731
            rows, columns = ((v + 2 * p - d * (k - 1) - 1) // s + 1
                             for v, k, s, d, p in zip((8, 9), size, stride, dilation, padding))
            parts = lambda v: unfold(v).reshape(2, 3, *size, rows, columns)  # noqa: E731
            self.compare("sum " + name, lambda b, v: b.window_reduce(N["SUM"], v, 12, windows, False),
                         lambda v: parts(v).sum((2, 3)), x)
            self.compare("unfold " + name, lambda b, v: b.unfold(v, 12, windows, 0.0),
                         lambda v: parts(v).permute(0, 1, 4, 5, 2, 3), x)
            self.compare("fold " + name, lambda b, v: b.fold(v, (2, 3, 8, 9), 12, windows),
                         lambda v: F.fold(v.permute(0, 1, 4, 5, 2, 3).reshape(2, 3 * size[0] * size[1], rows * columns),
                                          (8, 9), size, dilation, padding, stride),
                         self.normal(2, 3, rows, columns, *size))

    # --- moving elements -----------------------------------------------------------------------------------------

    def test_shape_operations_equal_pytorch(self):
        x = self.normal(4, 6, 5)
        self.compare("reshape", lambda b, v: b.reshape(v, (3, 40)), lambda v: v.reshape(3, 40), x)
        self.compare("broadcast", lambda b, v: b.broadcast(v, (2, 3, 4)), lambda v: v.expand(2, 3, 4), self.normal(3, 1))
        self.compare("transpose", lambda b, v: b.transpose(v, (2, 0, 1)), lambda v: v.permute(2, 0, 1), x)
        self.compare("concat", lambda b, v, w: b.concat((v, w, v), 3, 1), lambda v, w: torch.cat((v, w, v), 1), x,
                     self.normal(4, 1, 5))
        self.compare("slice", lambda b, v: b.slice(v, (1, 0, 2), (4, 6, 5), (2, 3, 1)), lambda v: v[1:4:2, ::3, 2:], x)
        self.compare("slice back", lambda b, v: b.slice(v, (0, 1, 0), (4, 6, 5), (1, -2, 1)),
                     lambda v: v[:, 1:].flip(1)[:, ::2], x)
        self.compare("slice along", lambda b, v: b.slice_along(v, 1, 2, 5), lambda v: v[:, 2:5], x)
        self.compare("flip", lambda b, v: b.flip(v, 5), lambda v: v.flip((0, 2)), x)
        self.compare("pad", lambda b, v: b.pad(v, (0, 2, 1), (3, 0, 1), 1.5),
                     lambda v: F.pad(v, (1, 1, 2, 0, 0, 3), value=1.5), x)
        self.compare("iota", lambda b, v: b.binary_of("mul", v, b.iota(N["F64"], (4, 6, 5), 1)),
                     lambda v: v * torch.arange(6, dtype=torch.float64)[:, None], x)

    def test_gather_and_scatter_equal_pytorch(self):
        x, updates = self.normal(6, 5, 4), self.normal(6, 3, 4)
        for axis in range(3):
            ids = self.rng.integers(x.shape[axis], size=(2, 3))
            self.compare("gather", lambda b, v, i: b.gather(v, i, axis),
                         lambda v, i: torch.index_select(v, axis, i.flatten()).unflatten(axis, i.shape), x, ids)
        along = self.rng.integers(5, size=(6, 3, 4))
        self.compare("gather along", lambda b, v, i: b.gather_along(v, i, 1), lambda v, i: torch.gather(v, 1, i), x, along)
        # Indices differ: PyTorch does not define which update is used if several set one element.
        apart = numpy.argsort(self.rng.random((6, 5, 4)), 1)[:, :3]
        self.compare("set", lambda b, v, i, u: b.scatter_along(v, i, u, 1, N["SCATTER_SET"]),
                     lambda v, i, u: v.scatter(1, i, u), x, apart, updates)
        self.compare("add", lambda b, v, i, u: b.scatter_along(v, i, u, 1, N["SCATTER_ADD"]),
                     lambda v, i, u: v.scatter_add(1, i, u), x, along, updates)
        for kind, theirs in (("MAX", "amax"), ("MIN", "amin")):
            self.compare(kind, lambda b, v, i, u: b.scatter_along(v, i, u, 1, N["SCATTER_" + kind]),
                         lambda v, i, u: v.scatter_reduce(1, i, u, theirs), x, along, updates, orders=1)
        rows = numpy.array([4, 0, 4])
        self.compare("add rows", lambda b, v, i, u: b.scatter(v, i, u, 0, N["SCATTER_ADD"]),
                     lambda v, i, u: v.index_add(0, i, u), x, rows, self.normal(3, 5, 4))
        self.compare("set rows", lambda b, v, i, u: b.scatter(v, i, u, 0, N["SCATTER_SET"]),
                     lambda v, i, u: v.index_copy(0, i, u), x, rows[:2], self.normal(2, 5, 4))

    # --- layers --------------------------------------------------------------------------------------------------

    def affine(self, *dims, has_bias=True):
        more = {"l.bias": self.normal(*dims)} if has_bias else {}
        return {"l.weight": self.normal(*dims), **more}

    def test_norms_equal_pytorch(self):
        for dims in ((4, 6, 5, 3), (3, 6), (2, 6, 7)):
            x = 2 * self.normal(*dims) + 1
            self.compare(f"batch {dims}", lambda b, v: b.batch_norm("l", v, 0.1, 1e-5, True),
                         lambda v, weight, bias: F.batch_norm(v, None, None, weight, bias, True), x,
                         parameters=self.affine(6))
            self.compare(f"group {dims}", lambda b, v: b.group_norm("l", v, 3, 1e-5),
                         lambda v, weight, bias: F.group_norm(v, 3, weight, bias), x, parameters=self.affine(6))
            for last in range(1, len(dims)):
                own = dims[-last:]
                self.compare(f"layer {own}", lambda b, v: b.layer_norm("l", v, last, 1e-5, True),
                             lambda v, weight, bias: F.layer_norm(v, own, weight, bias), x, parameters=self.affine(*own))
                self.compare(f"rms {own}", lambda b, v: b.rms_norm("l", v, last, 1e-6),
                             lambda v, weight: v * (v.square().mean(list(range(-last, 0)), True) + 1e-6).rsqrt() * weight,
                             x, parameters=self.affine(*own, has_bias=False))
            if len(dims) > 2:
                self.compare(f"instance {dims}", lambda b, v: b.instance_norm("l", v, 1e-5, True),
                             lambda v, weight, bias: F.instance_norm(v, None, None, weight, bias), x,
                             parameters=self.affine(6))

    def test_losses_equal_pytorch(self):
        x, labels = 3 * self.normal(9, 13), self.rng.integers(13, size=9)
        self.compare("log_softmax", lambda b, v: b.log_softmax(v), lambda v: F.log_softmax(v, -1), self.normal(2, 3, 11))
        self.compare("cross_entropy", lambda b, v, i: b.cross_entropy(v, i), F.cross_entropy, x, labels)

    def test_layers_equal_pytorch(self):
        self.compare("linear", lambda b, v: b.linear("l", v, 7, True), lambda v, weight, bias: F.linear(v, weight, bias),
                     self.normal(3, 5, 9), parameters={"l.weight": self.normal(7, 9), "l.bias": self.normal(7)})
        self.compare("conv", lambda b, v: b.conv2d("l", v, 4, 3, 2, 1, True),
                     lambda v, weight, bias: F.conv2d(v, weight, bias, 2, 1), self.normal(2, 3, 8, 7),
                     parameters={"l.weight": self.normal(4, 3, 3, 3), "l.bias": self.normal(4)})
        self.compare("embedding", lambda b, i: b.embedding("l", i, N["F64"], 11, 5, 1.0),
                     lambda i, weight: F.embedding(i, weight), self.rng.integers(11, size=(3, 4)),
                     parameters={"l.weight": self.normal(11, 5)})

    @staticmethod
    def attention(q, k, v, is_causal):
        k, v = (part.repeat_interleave(q.shape[1] // part.shape[1], 1) for part in (k, v))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if is_causal:
            t, s = scores.shape[-2:]
            scores = scores.masked_fill(torch.ones(t, s, dtype=torch.bool).triu(s - t + 1), -float("inf"))
        return scores.softmax(-1) @ v

    def test_attention_equals_pytorch(self):
        for heads, kv_heads, t, s in ((3, 3, 5, 5), (4, 2, 3, 7), (6, 1, 1, 4)):
            q, k, v = self.normal(2, heads, t, 6), self.normal(2, kv_heads, s, 6), self.normal(2, kv_heads, s, 5)
            for is_causal in (False, True):
                self.compare(f"{heads} {kv_heads} {t} {s} {is_causal}", lambda b, *x: b.attention(*x, 0.0, is_causal),
                             lambda *x: self.attention(*x, is_causal), q, k, v)

    def test_rotary_positions_equal_complex_rotation(self):
        """The expected result rotates each pair of elements as one complex number."""
        def turned(x, places):
            angle = places[:, None] * 10000 ** (-torch.arange(x.shape[-2], dtype=torch.float64) / x.shape[-2])
            return torch.view_as_real(torch.view_as_complex(x) * torch.polar(torch.ones_like(angle), angle))

        x, places = self.normal(2, 3, 5, 8), numpy.array([0, 1, 2, 40, 1000])
        self.compare("interleaved", lambda b, v, p: b.rope(v, p, 10000.0, True),
                     lambda v, p: turned(v.unflatten(-1, (4, 2)), p).flatten(-2), x, places)
        self.compare("halves", lambda b, v, p: b.rope(v, p, 10000.0, False),
                     lambda v, p: turned(v.unflatten(-1, (2, 4)).mT.contiguous(), p).mT.flatten(-2), x, places)


if __name__ == "__main__":
    run_support.main()
