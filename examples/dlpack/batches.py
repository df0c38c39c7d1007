"""Batches of a C++ loader as tensors of PyTorch and arrays of NumPy, without a copy, through DLPack.

usage: python3 batches.py libbatches.so
"""
import ctypes
import gc
import sys

DELETER_OFFSET = 56  # of DLManagedTensor: tensor 48 bytes, context 8, deleter 8
CAPSULE = b"dltensor"

capi = ctypes.pythonapi
capi.PyCapsule_New.restype = ctypes.py_object
capi.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
capi.PyCapsule_IsValid.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
capi.PyCapsule_GetPointer.restype = ctypes.c_void_p
capi.PyCapsule_GetPointer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]


def delete_managed(pointer):
    deleter = ctypes.cast(pointer + DELETER_OFFSET, ctypes.POINTER(ctypes.c_void_p))[0]
    Destructor(deleter)(pointer)


@Destructor
def drop_unused(capsule):
    """A capsule that nobody took still owns its tensor; one that was taken has another name."""
    if capi.PyCapsule_IsValid(capsule, CAPSULE):
        delete_managed(capi.PyCapsule_GetPointer(capsule, CAPSULE))


class Field:
    """One field of a batch: what `from_dlpack` of any array library takes, once."""

    def __init__(self, managed):
        self.address = ctypes.cast(managed, ctypes.POINTER(ctypes.c_void_p))[0]
        self._capsule = capi.PyCapsule_New(managed, CAPSULE, drop_unused)

    def __dlpack_device__(self):
        return (1, 0)  # the CPU

    def __dlpack__(self, **options):
        return self._capsule


class Batches:
    def __init__(self, path, loans):
        self._library = ctypes.CDLL(path)
        for name in ("batches_open", "batches_next"):
            getattr(self._library, name).restype = ctypes.c_void_p
        self._library.batches_error.restype = ctypes.c_char_p
        self._library.batches_next.argtypes = [ctypes.c_void_p]
        self._library.batches_error.argtypes = [ctypes.c_void_p]
        self._library.batches_close.argtypes = [ctypes.c_void_p]
        self._handle = self._library.batches_open(loans)

    def next(self):
        managed = self._library.batches_next(self._handle)
        error = self._library.batches_error(self._handle)
        if error:
            raise RuntimeError(error.decode())
        return Field(managed) if managed else None

    def close(self):
        self._library.batches_close(self._handle)


def check(path, from_dlpack, address_of):
    """One epoch: same memory, right values, and a slab that goes round when its tensor is gone."""
    batches, rows = Batches(path, loans=1), 0
    while (field := batches.next()) is not None:
        address = field.address
        x = from_dlpack(field)
        assert address_of(x) == address, "the values were copied"
        assert tuple(x.shape) == (16, 3)
        assert x.tolist() == [[3.0 * r, 3.0 * r + 1, 3.0 * r + 2] for r in range(rows, rows + 16)]
        rows += 16
        del x, field
    assert rows == 96, rows

    # Held on to, a tensor keeps its batch on loan: the loader says so instead of hanging.
    held, message = [], None
    try:
        while (field := batches.next()) is not None:
            held.append(from_dlpack(field))
    except RuntimeError as error:
        message = str(error)
    assert message is not None and "loan" in message, message
    kept = held[0].tolist()
    batches.close()
    assert held[0].tolist() == kept, "a tensor must outlive its loader"
    held.clear()

    # A capsule that nobody takes is given back by its destructor.
    batches = Batches(path, loans=1)
    for _ in range(6):
        assert batches.next() is not None
        gc.collect()
    batches.close()
    return message


def main():
    path, tried = sys.argv[1], []
    try:
        import torch

        check(path, torch.from_dlpack, lambda x: x.data_ptr())
        tried.append("torch " + torch.__version__)
    except ModuleNotFoundError:
        pass
    try:
        import numpy

        check(path, numpy.from_dlpack, lambda x: x.ctypes.data)
        tried.append("numpy " + numpy.__version__)
    except ModuleNotFoundError:
        pass
    if not tried:
        print("SKIPPED: this python3 has neither torch nor numpy")
        return
    print("batches handed to " + " and ".join(tried))


if __name__ == "__main__":
    main()
