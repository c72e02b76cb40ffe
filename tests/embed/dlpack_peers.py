#!/usr/bin/env python3
"""dlpack_peers.py LIBRARY - NumPy and PyTorch take tensors of libgibbous_embed.so by DLPack, and it takes theirs.

Of every type that both know, of contiguous, strided, empty and single values: the same numbers; the same memory where that is
promised; read-only where it is shared; memory given back by whoever has it last. GIBBOUS_PYTHON names a Python that has NumPy (and
PyTorch); where this one has none, it ends with status 77.
"""
import ctypes
import gc
import os
import sys

if os.environ.get("GIBBOUS_PYTHON") and not os.environ.get("GIBBOUS_PYTHON_IS_THIS"):
    os.environ["GIBBOUS_PYTHON_IS_THIS"] = "1"
    os.execvp(os.environ["GIBBOUS_PYTHON"], [os.environ["GIBBOUS_PYTHON"]] + sys.argv)
try:
    import numpy as np
except ImportError:
    print("left out: this Python has no NumPy; GIBBOUS_PYTHON names another")
    sys.exit(77)
try:
    import torch
except ImportError:
    torch = None

P = ctypes.c_void_p
GB_F64, GB_F32, GB_F16, GB_BF16, GB_I64, GB_BOOL, GB_I32 = range(7)
ERROR = ctypes.create_string_buffer(8192)          # gb_error, which begins with its text, has less


class Shape(ctypes.Structure):
    _fields_ = [("ndim", ctypes.c_int), ("dim", ctypes.c_size_t * 8)]

    def __init__(self, dims):
        super().__init__(len(dims), (ctypes.c_size_t * 8)(*dims))


class Use(ctypes.Structure):
    _fields_ = [("limit", ctypes.c_size_t), ("used", ctypes.c_size_t), ("peak", ctypes.c_size_t)]


lib = ctypes.CDLL(sys.argv[1])
api = ctypes.pythonapi
api.PyCapsule_New.restype, api.PyCapsule_New.argtypes = ctypes.py_object, [P, ctypes.c_char_p, P]
api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = P, [ctypes.py_object, ctypes.c_char_p]
api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
lib.gibbous_unref.argtypes, lib.gibbous_unref.restype = [P], None
lib.gibbous_ref.argtypes, lib.gibbous_ref.restype = [P], P


def call(name, *args):
    if getattr(lib, name)(*args, ERROR) != 0:
        raise RuntimeError(name + ": " + ERROR.value.decode())


def made(name, *args):
    """What a function writes through its last argument but the error."""
    out = P()
    call(name, *args, ctypes.byref(out))
    return out


session = made("gibbous_open", None)


def used():
    use = Use()
    call("gibbous_memory", session, 0, ctypes.byref(use))
    return use.used


class Node:
    """A tensor of Gibbous, as Python's protocol has it."""

    def __init__(self, pointer):
        self.pointer = pointer if isinstance(pointer, P) else P(pointer)

    def __del__(self):
        lib.gibbous_unref(self.pointer)

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if max_version is None or max_version[0] < 1:
            return api.PyCapsule_New(made("gibbous_to_dlpack_legacy", self.pointer), b"dltensor", None)
        return api.PyCapsule_New(made("gibbous_to_dlpack", self.pointer), KEPT_NAME, None)


class Older(Node):
    """The same, of a library that knows the protocol before version 1.0 alone."""

    def __dlpack__(self, *, stream=None, **_):
        return super().__dlpack__()


KEPT_NAME = b"dltensor_versioned"


def tensor(kind, dims, values, of=Node):
    data = np.ascontiguousarray(values)
    return of(made("gibbous_tensor", session, kind, ctypes.byref(Shape(dims)), data.ctypes.data_as(P), None))


def transposed(node, of=Node):
    return of(made("gibbous_transpose", node.pointer))


def taken(other, versioned=True):
    """A tensor of another library, as a node."""
    capsule = other.__dlpack__(max_version=(1, 0)) if versioned else other.__dlpack__()
    name = KEPT_NAME if versioned else b"dltensor"
    if versioned and b"versioned" not in repr(capsule).encode():
        name = b"dltensor"                             # a library that is older than it was asked to be
    suffix = "" if name == KEPT_NAME else "_legacy"
    node = Node(made("gibbous_from_dlpack" + suffix, session, P(api.PyCapsule_GetPointer(capsule, name)), None))
    consumed = ctypes.create_string_buffer(b"used_" + name)
    NAMES.append(consumed)                             # a capsule keeps the pointer
    api.PyCapsule_SetName(capsule, ctypes.cast(consumed, ctypes.c_char_p))
    return node


NAMES = []


def check(what, holds):
    if not holds:
        print("not so: " + what)
        sys.exit(1)


def address(x):
    return x.ctypes.data if isinstance(x, np.ndarray) else x.data_ptr()


def numbers(x):
    return x if isinstance(x, np.ndarray) else (x.float() if x.dtype == torch.bfloat16 else x).numpy()


def aligned(values):
    """A copy of values that begins at a multiple of 64 bytes."""
    room = np.empty(values.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    out = room[start:start + values.nbytes].view(values.dtype).reshape(values.shape)
    out[...] = values
    return out


KINDS = {GB_F64: np.float64, GB_F32: np.float32, GB_F16: np.float16, GB_I64: np.int64, GB_I32: np.int32, GB_BOOL: np.bool_}
SHAPES = [(), (0,), (3, 0), (5,), (64,), (16, 32), (2, 3, 4, 5)]
PEERS = {"NumPy": np.from_dlpack}
if torch is not None:
    PEERS["PyTorch"] = torch.from_dlpack


def values_of(dims, dtype):
    n = int(np.prod(dims, dtype=int))
    return ((np.arange(n) * 7919 % 101 - 50) / (2 if np.issubdtype(dtype, np.floating) else 1)).astype(dtype).reshape(dims)


def giving(peer, take):
    for kind, dtype in KINDS.items():
        for dims in SHAPES:
            for of in (Node, Older):
                want = values_of(dims, dtype)
                got = take(tensor(kind, dims, want, of))
                what = f"{peer} takes {dtype.__name__} of {dims} from {of.__name__}"
                check(what, numbers(got).dtype == dtype and np.array_equal(numbers(got), want))
                if len(dims) == 2:
                    turned = take(transposed(tensor(kind, dims, want, of), of))
                    check(what + ", transposed", np.array_equal(numbers(turned), want.T))
    x = tensor(GB_F64, (64, 4), values_of((64, 4), np.float64))
    a, b = take(x), take(x)
    check(peer + " takes a value twice, without a copy", address(a) == address(b))
    if peer == "NumPy":
        check("NumPy may only read what is shared", not a.flags.writeable)
    copy = take(Older(lib.gibbous_ref(x.pointer)))
    check(peer + " gets a copy by the older form", address(copy) != address(a))
    if peer == "PyTorch":                              # NumPy writes to nothing that comes by the older form
        copy[0] = 7
        check("PyTorch writes to its own copy", not np.array_equal(numbers(copy), numbers(a)))


def taking(peer, make):
    for dtype in KINDS.values():
        for dims in SHAPES:
            for versioned in (True, False):
                want = values_of(dims, dtype)
                whole = aligned(want)
                what = f"{dtype.__name__} of {dims} is taken from {peer}" + ("" if versioned else ", by the older form")
                node = taken(make(whole), versioned)
                back = np.from_dlpack(node)
                check(what, np.array_equal(back, want))
                if want.nbytes > 0 and want.nbytes % 64 == 0:
                    check(what + ", without a copy", back.ctypes.data == whole.ctypes.data)
                if len(dims) == 2:
                    check(what + ", transposed", np.array_equal(np.from_dlpack(taken(make(whole).T, versioned)), want.T))
                if len(dims) >= 1 and dims[0] > 2:
                    check(what + ", every other one", np.array_equal(np.from_dlpack(taken(make(whole)[1::2], versioned)), want[1::2]))


def halves():
    """bfloat16, which NumPy does not know."""
    want = torch.arange(64, dtype=torch.bfloat16).reshape(8, 8) / 4
    back = torch.from_dlpack(taken(want))
    check("bfloat16 goes to and fro", back.dtype == torch.bfloat16 and torch.equal(back, want))


def refusals():
    for what, x in {"uint8": np.zeros(3, np.uint8), "complex": np.zeros(3, np.complex128)}.items():
        try:
            taken(x)
        except RuntimeError as e:
            check(what + " is refused with a remedy", "f64, f32, f16, bf16, i64, i32 and bool are" in str(e))
        else:
            check(what + " is refused", False)


def lives():
    """Memory is there while anybody has it, and goes with the last one."""
    whole = aligned(np.arange(1024.0))
    count = sys.getrefcount(whole)
    node = taken(whole)
    check("a leaf holds the array that it lies over", sys.getrefcount(whole) > count)
    y = Node(made("gibbous_map", b"mul", 2, (P * 2)(node.pointer, node.pointer)))
    result = np.from_dlpack(y)
    del node, y
    gc.collect()
    check("a result outlives its nodes", np.array_equal(result, np.arange(1024.0) ** 2))
    del result
    gc.collect()
    check("an array is given back with its last node", sys.getrefcount(whole) == count)


before = used()
for name, take in PEERS.items():
    giving(name, take)
taking("NumPy", lambda x: x)
if torch is not None:
    taking("PyTorch", torch.from_numpy)
    halves()
refusals()
lives()
gc.collect()
check("all memory has come back", used() == before)
call("gibbous_close", session)
print("NumPy %s, %s: tensors go to and fro" % (np.__version__, "PyTorch " + torch.__version__ if torch else "no PyTorch"))
