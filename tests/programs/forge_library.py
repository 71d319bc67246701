"""Python interface of libforge for tests: builders, and programs whose inputs and outputs are NumPy arrays.

Contains the signatures of the functions that tests use. The numbers of enumerations are read from the
headers. Note: a Builder has every function of <forge/graph.h> as a method, without the prefix forge_. Arrays
of States share memory with the slots, so a change of their contents applies to the next run.
"""
import ctypes
import os
import re
from ctypes import POINTER, byref, c_bool, c_char_p, c_double, c_int64, c_size_t, c_uint32, c_uint64, c_void_p, sizeof

import numpy

BUILD = os.environ.get("JOULE_BUILD", "build/release")
SOURCE = os.environ.get("JOULE_SOURCE", ".")
LIBRARY = os.path.join(BUILD, "src", "libforge.so")
MAX_RANK = 8


# --- structures ------------------------------------------------------------------------------------------------

class Shape(ctypes.Structure):
    _fields_ = [("rank", c_uint32), ("reserved", c_uint32), ("dims", c_int64 * MAX_RANK)]


class Tensor(ctypes.Structure):
    _fields_ = [("buffer", c_void_p), ("offset_bytes", c_size_t), ("dtype", c_uint32), ("reserved", c_uint32),
                ("shape", Shape), ("strides", c_int64 * MAX_RANK)]


class Error(ctypes.Structure):
    _fields_ = [("status", c_uint32), ("message", ctypes.c_char * 508)]


class Init(ctypes.Structure):
    _fields_ = [("kind", c_uint32), ("a", c_double), ("b", c_double)]


class ConvOptions(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("groups", c_uint32), ("stride", c_uint32 * 3), ("dilation", c_uint32 * 3),
                ("before", c_uint32 * 3), ("after", c_uint32 * 3), ("output_padding", c_uint32 * 3),
                ("is_transposed", c_bool)]


class Window(ctypes.Structure):
    _fields_ = [(name, c_uint32) for name in ("size", "stride", "dilation", "before", "after")]


class Group(ctypes.Structure):
    _fields_ = [("prefix", c_char_p), ("suffix", c_char_p), ("ranks", c_uint32), ("is_frozen", c_bool),
                ("has_no_decay", c_bool), ("rate_factor", c_double)]


class Sgd(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("nesterov", c_bool), ("momentum", c_double), ("weight_decay", c_double),
                ("max_norm", c_double), ("groups", POINTER(Group)), ("group_count", c_size_t)]


class AdamW(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("reserved", c_uint32), ("beta1", c_double), ("beta2", c_double),
                ("epsilon", c_double), ("weight_decay", c_double), ("max_norm", c_double), ("groups", POINTER(Group)),
                ("group_count", c_size_t)]


class Gpt(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("layers", c_uint32), ("heads", c_uint32), ("kv_heads", c_uint32),
                ("vocabulary", c_int64), ("context", c_int64), ("width", c_int64), ("dtype", c_uint32),
                ("is_training", c_bool), ("non_causal", c_bool), ("untied_lm_head", c_bool), ("checkpoint_activations", c_bool),
                ("dropout", c_double)]


class Schedule(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("kind", c_uint32), ("rate", c_double), ("last_rate", c_double),
                ("factor", c_double), ("warm_up_steps", c_uint64), ("steps", c_uint64), ("period_steps", c_uint64)]


def options(structure, **members):
    """Creates a structure and sets its first member to its size."""
    return structure(struct_size=sizeof(structure), **members)


# --- enumerations ----------------------------------------------------------------------------------------------

def _header(name):
    with open(os.path.join(SOURCE, "include", "forge", name), encoding="utf-8") as file:
        return file.read()


def _kinds(name):
    """Returns the rows of a .def file, as {"relu": 18}."""
    return {text: i for i, text in enumerate(re.findall(r'^[A-Z]+\(\w+, "(\w+)"\)', _header(name), re.M))}


UNARY, BINARY = _kinds("unary.def"), _kinds("binary.def")
NUMBER = {name: int(number)
          for header in ("dtype.h", "graph.h", "optim.h")
          for name, number in re.findall(r"FORGE_(\w+)\s*=\s*(\d+)", _header(header))}
DTYPES = {NUMBER[name]: numpy.dtype(kind) for name, kind in {
    "BOOL": "?", "U8": "u1", "U16": "u2", "U32": "u4", "U64": "u8", "I8": "i1", "I16": "i2", "I32": "i4", "I64": "i8",
    "F16": "f2", "F32": "f4", "F64": "f8"}.items()}


def dtype_number(dtype):
    return next(number for number, kind in DTYPES.items() if kind == numpy.dtype(dtype))


# --- functions -------------------------------------------------------------------------------------------------

# Signatures of builder functions: the result, then the arguments. v: value or slot; u and i: numbers; z: a
# count; d: double; b: bool; s: text; S: shape; I: initial contents; V, D, W: arrays of values, sizes,
# windows, or None; o: a structure or None; r: a value that is written.
_TYPES = {"v": c_uint32, "u": c_uint32, "i": c_int64, "z": c_size_t, "d": c_double, "b": c_bool, "s": c_char_p,
          "S": Shape, "I": Init, "V": c_void_p, "D": c_void_p, "W": c_void_p, "o": c_void_p, "r": c_void_p, "-": None}
_BUILDER = {
    "value_shape": "Sv", "value_dtype": "uv", "scope_push": "-s", "scope_pop": "-", "input": "vsuS", "output": "-sv",
    "state": "vsuSI", "read": "vv", "constant": "vo", "scalar": "vud", "iota": "vuSu", "unary": "vuv", "binary": "vuvv",
    "select": "vvvv", "cast": "vuv", "reduce": "vuvub", "scan": "vuvuu", "sort": "vvubr", "top_k": "vviur",
    "matmul": "vvvu", "conv": "vvvo", "window_reduce": "vuvuWb", "max_pool": "vvuuu", "avg_pool": "vvuuub",
    "unfold": "vvuWd", "fold": "vvSuW", "reshape": "vvS", "broadcast": "vvS", "transpose": "vvV", "concat": "vVzu",
    "slice": "vvDDD", "slice_along": "vvuii", "flip": "vvu", "pad": "vvDDd", "gather": "vvvu", "gather_along": "vvvu",
    "scatter": "vvvvuu", "scatter_along": "vvvvuu", "log_softmax": "vv", "cross_entropy": "vvv", "gradients": "-vVzr",
    "parameter": "vsuSI", "linear": "vsvib", "conv_layer": "vsviDob", "conv2d": "vsviiuub", "batch_norm": "vsvddb",
    "layer_norm": "vsvudb", "rms_norm": "vsvud", "group_norm": "vsvud", "instance_norm": "vsvdb", "mlp": "vsvDz",
    "cnn": "vsvD", "norm_cnn": "vsvib", "gpt": "vsvo", "embedding": "vsvuiid", "rope": "vvvdb", "attention": "vvvvdb",
    "sgd": "vvvo", "adamw": "vvvo",
}
_ELEMENTS = {"V": c_uint32, "D": c_int64, "W": Window}


def _load():
    """Returns the library; None if Python can load none."""
    if not os.path.exists(LIBRARY):
        return None
    with open(LIBRARY, "rb") as file:
        if re.search(b"__[at]san_init", file.read()):
            return None
    library = ctypes.CDLL(LIBRARY)
    for name, letters in _BUILDER.items():
        function = getattr(library, "forge_" + name)
        function.restype = _TYPES[letters[0]]
        function.argtypes = [c_void_p] + [_TYPES[letter] for letter in letters[1:]]
    for name in ("builder_new", "buffer_data"):
        getattr(library, "forge_" + name).restype = c_void_p
    library.forge_schedule_rate.restype = c_double
    library.forge_schedule_rate.argtypes = [POINTER(Schedule), c_uint64]
    return library


def _given(letter, argument):
    """Converts a method's argument to the types of the library, as `letter` states."""
    if letter == "s":
        return None if argument is None else argument.encode()
    if letter == "S" and not isinstance(argument, Shape):
        return shape_of(argument)
    if letter in _ELEMENTS and argument is not None:
        return (_ELEMENTS[letter] * len(argument))(*argument)
    if letter in "or" and argument is not None:
        return byref(argument)
    return argument


def _check(status, error):
    if status:
        raise RuntimeError(error.message.decode())


def shape_of(dims):
    return Shape(len(dims), 0, (c_int64 * MAX_RANK)(*dims))


def schedule_rate(schedule, step):
    return LIB.forge_schedule_rate(byref(schedule), step)


def _wrap(array):
    """Returns a tensor in the array's memory, which must outlive it."""
    buffer, tensor, error = c_void_p(), Tensor(), Error()
    memory = c_void_p(array.ctypes.data) if array.size else None
    _check(LIB.forge_buffer_wrap(memory, c_size_t(array.nbytes), None, None, byref(buffer), byref(error)), error)
    _check(LIB.forge_tensor_view(buffer, c_size_t(0), dtype_number(array.dtype), byref(shape_of(array.shape)),
                                 byref(tensor), byref(error)), error)
    return tensor


def _view(tensor):
    """Returns the tensor's memory as an array."""
    dtype = DTYPES[tensor.dtype]
    dims = tuple(tensor.shape.dims[:tensor.shape.rank])
    if 0 in dims:
        return numpy.zeros(dims, dtype)
    address = LIB.forge_buffer_data(c_void_p(tensor.buffer)) + tensor.offset_bytes
    strides = tuple(stride * dtype.itemsize for stride in tensor.strides[:len(dims)])
    reach = dtype.itemsize + sum((size - 1) * stride for size, stride in zip(dims, strides))
    return numpy.ndarray(dims, dtype, (ctypes.c_char * reach).from_address(address), 0, strides)


class Builder:
    def __init__(self):
        self.handle = LIB.forge_builder_new()

    def __getattr__(self, name):
        function, letters = getattr(LIB, "forge_" + name), _BUILDER[name][1:]

        def method(*arguments):
            assert len(arguments) == len(letters), name
            return function(self.handle, *(_given(letter, a) for letter, a in zip(letters, arguments)))
        return method

    def shape(self, value):
        shape = self.value_shape(value)
        return tuple(shape.dims[:shape.rank])

    def unary_of(self, kind, x):
        return self.unary(UNARY[kind], x)

    def binary_of(self, kind, x, y):
        """Adds a binary operation. One of the operands may be a number."""
        values = [v for v in (x, y) if not isinstance(v, float)]
        dtype = self.value_dtype(values[0])
        x, y = (self.scalar(dtype, v) if isinstance(v, float) else v for v in (x, y))
        return self.binary(BINARY[kind], x, y)

    def constant_of(self, array):
        array = numpy.array(array, order="C")
        tensor = _wrap(array)
        value = self.constant(tensor)
        LIB.forge_buffer_release(c_void_p(tensor.buffer))
        return value

    def gradients_of(self, loss, wrt):
        out = (c_uint32 * len(wrt))()
        self.gradients(loss, wrt, len(wrt), out)
        return list(out)


class States:
    """Slots by name; programs can share them."""

    def __init__(self, seed=1):
        self.handle, error = c_void_p(), Error()
        _check(LIB.forge_states_new(DEVICE, c_uint64(seed), byref(self.handle), byref(error)), error)

    def __getitem__(self, name):
        tensor = Tensor()
        if LIB.forge_states_find(self.handle, name.encode(), byref(tensor)):
            raise KeyError(name)
        return _view(tensor)

    def close(self):
        LIB.forge_states_free(self.handle)


class Program:
    """A compiled graph with its states."""

    def __init__(self, builder, states):
        graph, error = c_void_p(), Error()
        self.program, self.instance = c_void_p(), c_void_p()
        _check(LIB.forge_builder_finish(c_void_p(builder.handle), byref(graph), byref(error)), error)
        status = LIB.forge_compile(graph, DEVICE, byref(self.program), byref(error))
        LIB.forge_graph_free(graph)
        _check(status, error)
        _check(LIB.forge_instance_new(self.program, DEVICE, states.handle, byref(self.instance), byref(error)), error)

    def run(self, **inputs):
        error = Error()
        for name, array in inputs.items():
            array = numpy.array(array, order="C")
            tensor = _wrap(array)
            status = LIB.forge_instance_set(self.instance, name.encode(), byref(tensor), byref(error))
            LIB.forge_buffer_release(c_void_p(tensor.buffer))
            _check(status, error)
        _check(LIB.forge_instance_run(self.instance, byref(error)), error)

    def __getitem__(self, output):
        """Returns a copy of an output."""
        tensor, error = Tensor(), Error()
        _check(LIB.forge_instance_get(self.instance, output.encode(), byref(tensor), byref(error)), error)
        return _view(tensor).copy()

    def close(self):
        LIB.forge_instance_free(self.instance)
        LIB.forge_program_free(self.program)


def _open_device():
    device, error = c_void_p(), Error()
    _check(LIB.forge_device_open(b"cpu", byref(device), byref(error)), error)
    _check(LIB.forge_device_set_threads(device, 1, byref(error)), error)  # graphs of tests are small
    return device


LIB = _load()
DEVICE = _open_device() if LIB else None
