"""Measures the cases of bench/networks.c in another library: networks_peers.py ENGINE THREADS SECONDS CASE...

Engines: torch, torch-channels_last (PyTorch eager, both layouts of images), onnxruntime, openblas (through NumPy).
Prints one JSON line for each case: the times of its runs in s. `networks_peers.py ENGINE` prints the version of the
engine, or the reason why it cannot be used.
"""
import gzip
import json
import os
import pathlib
import re
import sys
import time

MNIST_IMAGES = 60000
LAYERS = {18: (2, 2, 2, 2), 50: (3, 4, 6, 3)}


def measure(run, limit_s, divisor=1):
    """Returns the times of runs in s. The first run is not counted; see bench/networks.c."""
    times_s = []

    def timed():
        begin = time.perf_counter()
        run()
        return time.perf_counter() - begin

    sum_s = timed()
    while sum_s < 0.1 * limit_s:
        sum_s += timed()
    sum_s = 0
    while len(times_s) < 2000 and (not times_s or sum_s < limit_s):
        times_s.append(timed())
        sum_s += times_s[-1]
    return [seconds / divisor for seconds in times_s]


# --- PyTorch ---


class Torch:
    def __init__(self, threads, is_channels_last):
        import torch
        self.torch, self.layout = torch, torch.channels_last if is_channels_last else torch.contiguous_format
        torch.manual_seed(1)
        torch.set_num_threads(threads)
        torch.set_flush_denormal(True)  # as libforge does

    def resnet(self, depth, count):
        import torchvision
        model = getattr(torchvision.models, f"resnet{depth}")().to(memory_format=self.layout)
        return model, self.torch.randn(count, 3, 224, 224).contiguous(memory_format=self.layout)

    def without_gradients(self, model, x):
        model.eval()

        def run():
            with self.torch.inference_mode():
                model(x)
        return run

    def step(self, model, optimiser, x, labels):
        optimiser.zero_grad(set_to_none=True)
        logits = model(x)
        self.torch.nn.functional.cross_entropy(logits.view(-1, logits.shape[-1]), labels).backward()
        optimiser.step()

    def infer(self, depth, count):
        return self.without_gradients(*self.resnet(depth, count))

    def train(self, depth, count):
        model, x = self.resnet(depth, count)
        labels = self.torch.randint(1000, (count,))
        optimiser = self.torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
        return lambda: self.step(model, optimiser, x, labels)

    def gpt2(self, rows, tokens, layers):
        import gpt2_torch
        gpt2_torch.LAYERS = layers
        model = gpt2_torch.Gpt()
        optimiser = self.torch.optim.AdamW(model.parameters(), lr=3e-4)
        x, following = self.torch.randint(gpt2_torch.VOCABULARY, (2, rows, tokens))
        return lambda: self.step(model, optimiser, x, following.view(-1))

    def mnist(self, batch):
        nn = self.torch.nn
        model = nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3), nn.ReLU(),
                              nn.MaxPool2d(2), nn.Flatten(), nn.Linear(800, 64), nn.ReLU(), nn.Linear(64, 10))
        model.to(memory_format=self.layout)
        optimiser = self.torch.optim.AdamW(model.parameters())
        images, labels = self.mnist_data()

        def run():
            for first in range(0, MNIST_IMAGES - batch + 1, batch):
                part = slice(first, first + batch)
                self.step(model, optimiser, images[part].contiguous(memory_format=self.layout), labels[part])
        return run

    def mnist_data(self):
        """Returns MNIST from JOULE_TEST_DATA, or random images and labels."""
        folder = pathlib.Path(os.environ.get("JOULE_TEST_DATA", "../shared/data")) / "ml-data/mnist"
        images, labels = (b"".join(idx_bytes(path) for path in sorted(folder.glob(f"train-{what}*.gz")))
                          for what in ("images", "labels"))
        if len(labels) != MNIST_IMAGES or len(images) != 784 * MNIST_IMAGES:
            return self.torch.randn(MNIST_IMAGES, 1, 28, 28), self.torch.randint(10, (MNIST_IMAGES,))
        pixels = self.torch.frombuffer(bytearray(images), dtype=self.torch.uint8).view(-1, 1, 28, 28)
        classes = self.torch.frombuffer(bytearray(labels), dtype=self.torch.uint8).long()
        return (pixels.float() / 255 - 0.1307) / 0.3081, classes

    def gemm(self, rows, depth, columns):
        x, y = self.torch.randn(rows, depth), self.torch.randn(depth, columns)
        out = self.torch.empty(rows, columns)
        return lambda: self.torch.mm(x, y, out=out)

    def mlp(self, count):
        nn = self.torch.nn
        model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
        return self.without_gradients(model, self.torch.randn(count, 784))

    def launches(self, count):
        x = self.torch.randn(8)

        def run():
            y = x
            with self.torch.inference_mode():
                for i in range(count):
                    y = y * x if i % 2 else y + x
        return run


def idx_bytes(path):
    """Returns the elements of an IDX file of bytes."""
    data = gzip.decompress(path.read_bytes())
    return data[4 + 4 * data[3]:]  # data[3]: the number of dimensions


# --- ONNX Runtime ---


class OnnxRuntime:
    def __init__(self, threads):
        import onnxruntime
        self.runtime, self.options = onnxruntime, onnxruntime.SessionOptions()
        self.options.intra_op_num_threads = threads

    def infer(self, depth, count):
        import numpy
        model = ResnetModel(depth, count).model()
        session = self.runtime.InferenceSession(model, self.options, providers=["CPUExecutionProvider"])
        x = numpy.random.default_rng(1).standard_normal((count, 3, 224, 224), dtype=numpy.float32)
        return lambda: session.run(None, {"x": x})


class ResnetModel:
    """Writes ResNet with random weights as an ONNX model."""

    def __init__(self, depth, count):
        import numpy
        import onnx
        self.onnx, self.depth, self.count = onnx, depth, count
        self.random = numpy.random.default_rng(1)
        self.nodes, self.weights = [], []

    def add(self, op, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(op, list(inputs), [name], **attributes))
        return name

    def weight(self, *shape, scale=1.0, offset=0.0):
        name = f"w{len(self.weights)}"
        values = self.random.standard_normal(shape, dtype="float32") * scale + offset
        self.weights.append(self.onnx.numpy_helper.from_array(values.astype("float32"), name))
        return name

    def conv(self, x, channels, out, kernel, stride=1, is_active=True):
        weight = self.weight(out, channels, kernel, kernel, scale=(2 / (out * kernel * kernel)) ** 0.5)
        x = self.add("Conv", x, weight, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4)
        statistics = [self.weight(out, scale=0.01, offset=offset) for offset in (1, 0, 0, 1)]
        x = self.add("BatchNormalization", x, *statistics, epsilon=1e-5)
        return self.add("Relu", x) if is_active else x

    def block(self, x, channels, width, stride):
        has_bottleneck = self.depth >= 50
        out = width * 4 if has_bottleneck else width
        if has_bottleneck:
            y = self.conv(self.conv(x, channels, width, 1), width, width, 3, stride)
            y = self.conv(y, width, out, 1, is_active=False)
        else:
            y = self.conv(self.conv(x, channels, width, 3, stride), width, width, 3, is_active=False)
        if stride > 1 or channels != out:
            x = self.conv(x, channels, out, 1, stride, is_active=False)
        return self.add("Relu", self.add("Add", y, x)), out

    def model(self):
        helper, kind = self.onnx.helper, self.onnx.TensorProto.FLOAT
        x, channels = self.conv("x", 3, 64, 7, 2), 64
        x = self.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        for stage, blocks in enumerate(LAYERS[self.depth]):
            for i in range(blocks):
                x, channels = self.block(x, channels, 64 << stage, 2 if stage > 0 and i == 0 else 1)
        x = self.add("Flatten", self.add("GlobalAveragePool", x))
        x = self.add("Gemm", x, self.weight(channels, 1000, scale=0.01), self.weight(1000, scale=0.01))
        graph = helper.make_graph(self.nodes, "resnet", [helper.make_tensor_value_info("x", kind, [self.count, 3, 224, 224])],
                                  [helper.make_tensor_value_info(x, kind, [self.count, 1000])], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return model.SerializeToString()


# --- OpenBLAS ---


class OpenBlas:
    def __init__(self, threads):
        import numpy  # its threads are those of OPENBLAS_NUM_THREADS, which main sets
        self.numpy = numpy

    def gemm(self, rows, depth, columns):
        random = self.numpy.random.default_rng(1)
        x = random.standard_normal((rows, depth), dtype="float32")
        y = random.standard_normal((depth, columns), dtype="float32")
        out = self.numpy.empty((rows, columns), dtype="float32")
        return lambda: self.numpy.matmul(x, y, out=out)


def version_of(engine):
    """Returns the engine's version. Raises ImportError if it cannot be used."""
    if engine == "onnxruntime":
        import onnx
        import onnxruntime
        return f"ONNX Runtime {onnxruntime.__version__} (onnx {onnx.__version__})"
    if engine == "openblas":
        import numpy
        blas = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
        if "openblas" not in blas["name"]:
            raise ImportError(f"NumPy uses {blas['name']}, not OpenBLAS")
        return f"OpenBLAS {blas['version']} (NumPy {numpy.__version__})"
    import torch
    build = torch.__config__.show()
    parts = re.findall(r"oneAPI Math Kernel Library Version ([\d.]+)|MKL-DNN v([\d.]+)", build)
    names = [f"MKL {mkl}" if mkl else f"oneDNN {dnn}" for mkl, dnn in parts]
    return f"PyTorch {torch.__version__} ({', '.join(names)})" if names else f"PyTorch {torch.__version__}"


ENGINES = {"torch": lambda threads: Torch(threads, False), "torch-channels_last": lambda threads: Torch(threads, True),
           "onnxruntime": OnnxRuntime, "openblas": OpenBlas}


def main(engine, threads=None, seconds=None, *cases):
    if threads is None:
        try:
            print(version_of(engine))
        except ImportError as reason:
            sys.exit(f"{reason}")
        return
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = threads
    peer = ENGINES[engine](int(threads))
    for case in cases:
        kind, *sizes = case.split(":")
        sizes = [int(size) for size in sizes]
        run = getattr(peer, kind)(*sizes)
        times_s = measure(run, float(seconds), sizes[0] if kind == "launches" else 1)
        print(json.dumps({"bench": "networks", "who": engine, "case": case, "threads": int(threads), "times_s": times_s}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
