#!/usr/bin/env python3
"""Writes resampled.inc: what scipy.ndimage.map_coordinates makes of a volume by some maps. Needs numpy and scipy."""
import pathlib

import numpy as np
from scipy.ndimage import map_coordinates

VOLUME = (9, 10, 11)
PATCH = (4, 5, 6)


def turn(degrees, axes):
    matrix = np.eye(3)
    a, b = axes
    angle = np.deg2rad(degrees)
    matrix[a, a] = matrix[b, b] = np.cos(angle)
    matrix[a, b], matrix[b, a] = -np.sin(angle), np.sin(angle)
    return matrix


z, y, x = np.meshgrid(*map(np.arange, VOLUME), indexing="ij")
volume = (z * z * 7 + y * 31 + x * x * 3 + z * y * x) % 256
maps = [
    (turn(20, (1, 2)) @ turn(-35, (0, 1)) * 1.1, (3.25, 2.5, 1.75)),
    (turn(75, (0, 2)) * 0.8, (5.5, 1.125, 6.0)),
    (np.diag([1.4, -0.7, -1.2]), (1.0, 8.0, 9.5)),
    (turn(10, (0, 1)) @ turn(10, (0, 2)) * 2.0, (-1.0, -2.0, 3.0)),  # beyond the edges
]
lines = []
for matrix, origin in maps:
    voxels = np.stack(np.meshgrid(*map(np.arange, PATCH), indexing="ij")).reshape(3, -1)
    places = matrix @ voxels + np.array(origin)[:, None]
    found = map_coordinates(volume.astype(np.float64), places, order=1, mode="nearest")
    numbers = [*matrix.reshape(-1), *origin]
    lines.append("{{" + ", ".join(repr(float(n)) for n in numbers) + "},\n {" + ", ".join(f"{v:.6f}" for v in found) + "}},")
pathlib.Path(__file__).with_name("resampled.inc").write_text("\n".join(lines) + "\n")
