#!/usr/bin/env python3
"""Writes persistence_values.inc: the persistent pairs of volumes that cubical_persistence_test.cpp makes alike. Run once
with gudhi 3.13.0, torch 2.11.0 and numpy 2.4.6:

    python3 make_persistence_values.py > persistence_values.inc

The pairs are found twice: by gudhi, and here by reducing the boundary matrix column by column (Edelsbrunner, Letscher
and Zomorodian, 2002). Where all voxels differ, gudhi's voxels of a pair are the only ones of its values.
"""
import itertools

import gudhi
import numpy as np

from hashed_fill import fill

FREE, TIED = 1 << 20, 5
VOLUMES = [((1, 9, 11), FREE), ((1, 12, 12), TIED), ((1, 1, 23), FREE), ((5, 6, 7), FREE), ((8, 7, 6), FREE),
           ((6, 1, 9), TIED), ((7, 7, 7), TIED), ((2, 2, 2), FREE), ((1, 1, 1), FREE)]


def levels(number, shape, count):
    """Integers from 0 to count - 1."""
    return np.floor(fill(f"persistence {number}", shape, 0.5, 0.5).numpy() * count).astype(int)


def boundary(cell):
    for axis, place in enumerate(cell):
        if place % 2:
            for step in (-1, 1):
                yield cell[:axis] + (place + step,) + cell[axis + 1:]


def reduced(volume):
    """Pairs (dimension, birth, death) of the closed voxels' sublevel sets, the endless one with death None."""
    value = {}
    for cell in itertools.product(*(range(2 * n + 1) for n in volume.shape)):
        around = (slice(max((c - 1) // 2, 0), c // 2 + 1) for c in cell)
        value[cell] = volume[tuple(around)].min()
    order = sorted(value, key=lambda cell: (value[cell], sum(c % 2 for c in cell), cell))
    place = {cell: i for i, cell in enumerate(order)}
    column_of, pairs, unpaired = {}, [], set()
    for i, cell in enumerate(order):
        column = {place[face] for face in boundary(cell)}
        while column and max(column) in column_of:
            column ^= column_of[max(column)]
        if not column:
            unpaired.add(i)
            continue
        low = max(column)
        column_of[low] = column
        unpaired.remove(low)
        if value[order[low]] < value[cell]:
            pairs.append((sum(c % 2 for c in order[low]), value[order[low]], value[cell]))
    (endless,) = unpaired
    return sorted(pairs) + [(0, value[order[endless]], None)]


def by_gudhi(volume):
    cubical = gudhi.CubicalComplex(top_dimensional_cells=volume.astype(float))
    pairs = cubical.persistence(homology_coeff_field=2, min_persistence=0)
    finite = sorted((k, int(b), int(d)) for k, (b, d) in pairs if np.isfinite(d))
    if len(np.unique(volume)) == volume.size:
        flat = volume.reshape(-1, order="F")  # as it counts voxels
        voxels = [(k, int(flat[b]), int(flat[d])) for k, rows in enumerate(cubical.cofaces_of_persistence_pairs()[0])
                  for b, d in rows]
        assert sorted(voxels) == finite
    return finite + [(k, int(b), None) for k, (b, d) in pairs if not np.isfinite(d)]


def main():
    for number, (shape, count) in enumerate(VOLUMES):
        volume = levels(number, shape, count)
        assert count == TIED or len(np.unique(volume)) == volume.size, number
        pairs = [(int(k), int(b), None if d is None else int(d)) for k, b, d in reduced(volume)]
        assert pairs == by_gudhi(volume), number
        text = ", ".join(f"{{{k}, {b}, {d}}}" for k, b, d in pairs[:-1])
        print(f"{{{{{', '.join(map(str, shape))}}}, {count}, {pairs[-1][1]}, {{{text}}}}},")


main()
