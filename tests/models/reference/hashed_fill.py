"""Values of tensors that tests/models/hashed_fill.h computes alike."""
import numpy as np
import torch


def hashed(text):
    """FNV-1a of 64 bits."""
    state = 0xCBF29CE484222325
    for byte in text.encode():
        state = (state ^ byte) * 0x100000001B3 % 2**64
    return state


def fill(name, shape, offset, scale):
    """offset + scale * u, u in [-1, 1) by splitmix64 from the hash of the name."""
    with np.errstate(over="ignore"):
        z = np.uint64(hashed(name)) + np.arange(1, int(np.prod(shape)) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    u = (z >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1
    return torch.from_numpy(offset + scale * u).reshape(tuple(shape))
