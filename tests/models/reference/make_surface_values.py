#!/usr/bin/env python3
"""Writes surface_values.inc: what surface-distance and scikit-image give of volumes that surface_cases.h makes alike, for
surface_score_test.cpp. Run once with surface-distance 0.1, scikit-image 0.26.0, scipy 1.17.1, numpy 2.4.6 and torch 2.11.0:

    python3 make_surface_values.py > surface_values.inc

A line is {areas of both surfaces, surface Dice at 0, 0.5, 1, sqrt(2), 2, 3.5, H(truth | prediction), H(prediction | truth)}.
"""
import warnings

import numpy as np
import surface_distance
from skimage.measure import label
from skimage.metrics import variation_of_information

from hashed_fill import fill

CASES = 150


def numbers(name, *shape):
    return fill(name, shape, 0.5, 0.5).numpy()


def volumes(i):
    name = f"surface {i}"
    u = numbers(name, 6)
    shape = tuple(2 + int(side * 14) for side in u[:3])
    density = 0.02 + 0.7 * u[3] * u[3]
    prediction = numbers(name + " prediction", *shape) < density
    truth = np.where(numbers(name + " agreement", *shape) < u[4], prediction, numbers(name + " truth", *shape) < density)
    known = ~(numbers(name + " unknown", *shape) < 0.1 * u[5])
    return prediction & known, truth & known


def surface(prediction, truth):
    if not prediction.any() and not truth.any():
        return [0.0, 0.0] + [1.0] * 6
    found = surface_distance.compute_surface_distances(truth, prediction, spacing_mm=(1, 1, 1))
    dice = [surface_distance.compute_surface_dice_at_tolerance(found, t) for t in (0, 0.5, 1, 2**0.5, 2, 3.5)]
    return [found["surfel_areas_pred"].sum(), found["surfel_areas_gt"].sum()] + dice


def information(prediction, truth):
    either = prediction | truth
    if not either.any():
        return [0.0, 0.0]
    labels = [label(mask, connectivity=3)[either][None] for mask in (prediction, truth)]
    return list(variation_of_information(*labels))


def main():
    warnings.simplefilter("ignore")
    for i in range(CASES):
        pair = volumes(i)
        values = surface(*pair) + information(*pair)
        assert np.isfinite(values).all(), i
        print("{" + ", ".join(f"{v:.13g}" for v in values) + "},")


main()
