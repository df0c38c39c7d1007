#!/usr/bin/env python3
"""Writes data/volume_preparation.json: what some preparations make of the data set that nnunet_raw_files.h makes, by numpy:
crop, nnU-Net's normalizations in float64, then trilinear interpolation (labels: of each one's indicator). Of each volume
some voxels. Run once with numpy 2.4.6; run it from this folder."""
import itertools
import json
from pathlib import Path

import numpy as np

from nnunet_raw_voxels import voxels

CT = {"low": -80.0, "high": 210.5, "mean": 55.25, "deviation": 90.5}
RECIPES = {
    "zscore": {"schemes": ["zscore"], "spacing": [0, 0, 0], "crop": True},
    "zscore_nonzero": {"schemes": ["zscore_nonzero"], "spacing": [1.25, 1.1, 0.5], "crop": True},
    "mixed": {"schemes": ["ct", "zero_to_one"], "spacing": [4.5, 0, 1.3], "crop": True},
    "whole": {"schemes": ["by_255", "none"], "spacing": [0, 0, 0], "crop": False},
    "whole_zscore": {"schemes": ["zscore_nonzero", "zscore"], "spacing": [0, 0, 0], "crop": False},
}


def normalized(image, scheme, mask):
    image = image.astype(np.float64)
    if scheme == "zscore":
        return (image - image.mean()) / max(image.std(), 1e-8)
    if scheme == "zscore_nonzero":
        made = np.zeros_like(image)
        made[mask] = (image[mask] - image[mask].mean()) / max(image[mask].std(), 1e-8)
        return made
    if scheme == "ct":
        return (np.clip(image, CT["low"], CT["high"]) - CT["mean"]) / max(CT["deviation"], 1e-8)
    if scheme == "zero_to_one":
        image = image - image.min()
        return image / max(image.max(), 1e-8)
    return image / 255 if scheme == "by_255" else image


def weights(old, new):
    """Of each new voxel (rows) those of the old ones."""
    at = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
    low = np.minimum(np.floor(at).astype(int), old - 1)
    high = np.minimum(low + 1, old - 1)
    made = np.zeros((new, old))
    np.add.at(made, (np.arange(new), low), 1 - (at - low))
    np.add.at(made, (np.arange(new), high), at - low)
    return made


def resampled(image, shape):
    z, y, x = (weights(o, n) for o, n in zip(image.shape, shape))
    return np.einsum("ai,bj,ck,ijk->abc", z, y, x, image, optimize=True)


def prepared(case, recipe):
    *channels, label = voxels(case)
    own = np.array([2.5 + case, 0.75, 0.8])
    mask = np.any([c != 0 for c in channels], axis=0)
    box = [(0, n) for n in mask.shape]
    if recipe["crop"]:
        box = [(int(w.min()), int(w.max()) + 1) for w in np.nonzero(mask)]
    crop = tuple(slice(*edge) for edge in box)
    schemes = recipe["schemes"] * (2 // len(recipe["schemes"]))
    images = [normalized(c[crop], s, mask[crop]) for c, s in zip(channels, schemes)]
    extremes = [float(min(i.min() for i in images)), float(max(i.max() for i in images))]
    label = label[crop]
    spacing = np.where(np.array(recipe["spacing"]) == 0, own, recipe["spacing"])
    shape = [max(int(np.rint(n * o / s)), 1) for n, o, s in zip(label.shape, own, spacing)]
    shares = np.stack([label == value for value in range(3)]).astype(np.float64)
    if shape != list(label.shape):
        images = [resampled(i, shape) for i in images]
        shares = np.stack([resampled(s, shape) for s in shares])
    order = np.sort(shares, axis=0)
    label = np.where(order[-1] - order[-2] > 1e-3, np.argmax(shares, axis=0), -1)  # -1: too close to tell
    return box, shape, images, label, extremes


def stored(case, recipe):
    box, shape, images, label, extremes = prepared(case, recipe)
    places = list(itertools.islice(itertools.product(*(range(n) for n in shape)), 5, None, 61))
    return {"case": case, "begin": [b for b, _ in box], "end": [e for _, e in box], "extent": shape, "range": extremes,
            "step": 61, "first": 5,
            "images": [[float(f"{i[p]:.9g}") for p in places] for i in images],
            "label": [int(label[p]) for p in places]}


if __name__ == "__main__":
    made = [{"name": name, **recipe, "cases": [stored(case, recipe) for case in (0, 2)]}
            for name, recipe in RECIPES.items()]
    Path("data/volume_preparation.json").write_text(json.dumps({"ct": CT, "recipes": made}) + "\n")
