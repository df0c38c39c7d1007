#!/usr/bin/env python3
"""Writes soft_skeleton_reference.inc: clDice's soft skeleton of binary volumes by max-pooling, for
tests/augment/volume/soft_skeleton_test.cpp. Run once with torch 2.11.0 and numpy 2.4.6:

    python3 make_soft_skeleton.py > soft_skeleton_reference.inc

Before it writes, both kinds of operators are held against sums that are known of a volume of floats and of a box.
"""
import numpy as np
import torch
from torch.nn.functional import max_pool3d, relu


def pool(x, window):
    return max_pool3d(x[None, None], window, stride=1, padding=[side // 2 for side in window])[0, 0]


def erode_cross(x):
    return -torch.stack([pool(-x, window) for window in ([3, 1, 1], [1, 3, 1], [1, 1, 3])]).amax(0)


def erode_cube(x):
    return -pool(-x, [3, 3, 3])


def excess(x, erode):
    return relu(x - pool(erode(x), [3, 3, 3]))


def cross(x, iterations):
    skeleton = excess(x, erode_cross)
    for _ in range(iterations):
        x = erode_cross(x)
        more = excess(x, erode_cross)
        skeleton = skeleton + relu(more - skeleton * more)
    return skeleton


def cube(x, iterations):
    skeleton = torch.zeros_like(x)
    for _ in range(iterations):
        skeleton = skeleton + relu(excess(x, erode_cube) - skeleton)
        x = erode_cube(x)
    return skeleton.clamp(0, 1)


def check():
    z, y, x = np.indices((5, 6, 7))
    p = torch.from_numpy((2 * x + 3 * y + 5 * z) % 7 / 6.0)
    t = torch.zeros(5, 6, 7, dtype=torch.float64)
    t[1:4, 1:5, 2:5] = 1
    assert abs(cross(p, 3).sum().item() - 78.194444444444) < 1e-9 and cross(t, 3).sum() == 2
    assert abs(cube(p, 3).sum().item() - 95) < 1e-9 and cube(t, 3).sum() == 2


def digits(volume):
    bits = volume.reshape(-1).astype(int).tolist()
    bits += [0] * (-len(bits) % 4)
    return "".join(f"{8 * a + 4 * b + 2 * c + d:x}" for a, b, c, d in zip(*(bits[i::4] for i in range(4))))


def volume(generator, shape):
    """Noise made thicker, so that a few erosions leave something."""
    noise = torch.from_numpy((generator.random(shape) < 0.008).astype(float))
    thick = pool(noise, [5, 5, 5])
    return torch.where(torch.from_numpy(generator.random(shape) < 0.02), 1 - thick, thick)


def main():
    check()
    generator = np.random.default_rng(11)
    for shape in ((9, 10, 11), (7, 6, 63), (5, 7, 64), (6, 5, 65), (1, 12, 14), (8, 1, 1), (4, 9, 133)):
        for name, skeleton in (("cross", cross), ("cube", cube)):
            for iterations in (1, 3):
                label = volume(generator, shape)
                found = skeleton(label, iterations)
                assert set(found.unique().tolist()) <= {0.0, 1.0}
                print(f'{{{{{shape[0]}, {shape[1]}, {shape[2]}}}, Operators::{name}, {iterations},')
                print(f' "{digits(label.numpy())}",\n "{digits(found.numpy())}"}},')


main()
