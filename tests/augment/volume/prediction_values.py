#!/usr/bin/env python3
"""Makes data/prediction_values.bin: what other libraries make of predicted volumes.

Run once with numpy 2.4.6, scipy 1.17.1, scikit-image 0.26.0 and torch 2.11.0:
  python3 prediction_values.py data/prediction_values.bin
The format is that of volume_values.py.
"""
import struct
import sys

import numpy as np
import torch
from scipy import ndimage
from skimage.measure import label
from skimage.morphology import ball
from torch.nn.functional import interpolate, one_hot

out = open(sys.argv[1], "wb")
generator = np.random.default_rng(5)


def put(name, kind, values):
    raw = np.ascontiguousarray(values).reshape(-1)
    assert kind != "b" or raw.max() < 256
    data = {"f": lambda: raw.astype("<f4"), "b": lambda: raw.astype(np.uint8), "p": lambda: np.packbits(raw != 0)}[kind]()
    out.write(struct.pack("<B", len(name)) + name.encode() + kind.encode() + struct.pack("<I", raw.size) + data.tobytes())


def smooth(shape, times):
    field = generator.normal(size=shape)
    for _ in range(times):
        for axis in range(3):
            field = (np.roll(field, 1, axis) + 2 * field + np.roll(field, -1, axis)) / 4
    return field


def gaussian(patch, sigma, peak):
    """The steps of nnU-Net's compute_gaussian, in float32."""
    spike = np.zeros(patch)
    spike[tuple(side // 2 for side in patch)] = 1
    window = torch.from_numpy(ndimage.gaussian_filter(spike, [side * sigma for side in patch], 0, mode="constant", cval=0))
    window = (window / (window.max() / peak)).to(torch.float32)
    window[window == 0] = window[window != 0].min()
    return window


put("gaussian 8 10 12", "f", gaussian((8, 10, 12), 1 / 8, 1))
put("gaussian 7 9 5", "f", gaussian((7, 9, 5), 1 / 8, 10))
put("gaussian 1 14 15", "f", gaussian((1, 14, 15), 0.05, 1))

crumbs = generator.choice(4, size=(8, 10, 12), p=(0.6, 0.16, 0.14, 0.1)).astype(np.uint8)
put("crumbs", "b", crumbs)
for number, neighbours in enumerate(("faces", "edges", "corners"), 1):
    structure = ndimage.generate_binary_structure(3, number)
    put("together " + neighbours, "b", ndimage.label(crumbs, structure)[0])
    put("by label " + neighbours, "b", label(crumbs, background=0, connectivity=number))
    small, largest = crumbs.copy(), crumbs.copy()
    for kind in (1, 2, 3):
        numbers, count = ndimage.label(crumbs == kind, structure)
        sizes = np.bincount(numbers.reshape(-1))
        small[(numbers > 0) & (sizes[numbers] < 4)] = 0
        largest[(numbers > 0) & (numbers != 1 + np.argmax(sizes[1:]))] = 0
    put("small " + neighbours, "b", small)
    put("largest " + neighbours, "b", largest)

sheets = np.zeros((12, 16, 18), np.uint8)
field = smooth(sheets.shape, 2)
sheets[field > np.quantile(field, 0.8)] = 1
put("sheets", "p", sheets)
for radius in (1, 2, 3, 5):
    room = np.pad(sheets, 2 * radius)
    closed = ndimage.binary_erosion(ndimage.binary_dilation(room, ball(radius)), ball(radius))
    put(f"closed {radius}", "p", closed[(slice(2 * radius, -2 * radius),) * 3])

SCORES = (6, 7, 8)
scores = torch.tensor(np.stack([smooth(SCORES, 1) for _ in range(3)]), dtype=torch.float32)
put("scores", "f", scores)


def cubic(values, size):
    channels, z, y, x = values.shape
    values = interpolate(values.reshape(channels * z, 1, y, x), size[1:], mode="bicubic")
    values = values.reshape(channels, z, size[1] * size[2])
    values = interpolate(values[:, None], (size[0], size[1] * size[2]), mode="bicubic")
    return values.reshape(channels, *size)


for size in ((9, 5, 8), (4, 11, 13)):
    name = " ".join(map(str, size))
    linear = interpolate(scores[None], size, mode="trilinear")[0]
    put("linear " + name, "f", linear)
    put("cubic " + name, "f", cubic(scores, size))
    put("labels " + name, "b", linear.argmax(0))

blobs = scores.argmax(0)
put("blobs", "b", blobs)
for size in ((9, 5, 8), (4, 11, 13), (12, 14, 16)):
    name = " ".join(map(str, size))
    put("nearest " + name, "b", interpolate(blobs[None, None].float(), size, mode="nearest-exact")[0, 0])
    shares = interpolate(one_hot(blobs, 3).movedim(-1, 0)[None].double(), size, mode="trilinear")[0]
    put("shares " + name, "b", (shares - 1e-7 * torch.arange(3).view(3, 1, 1, 1)).argmax(0))  # of equal ones the first
