#!/usr/bin/env python3
"""Writes saliency_values.inc: what PySODMetrics gives of pictures that saliency_cases.h makes alike, for
saliency_measures_test.cpp. Run once with torch 2.11.0, pysodmetrics 1.6.2, numpy 2.4.6 and scipy 1.17.1:

    python3 make_saliency_values.py > saliency_values.inc

Of the first 200 pictures none depends on the choice between equally near pixels of the object: it is unique, or those
have equal errors. That is checked here, pixel by pixel. The 40 behind them have such ties.
"""
import warnings

import numpy as np
import py_sod_metrics as sod

from hashed_fill import fill

FREE, TIED = 200, 40


def numbers(name, *shape):
    return fill(name, shape, 0.5, 0.5).numpy()


def rectangle(u, height, width):
    top, left = int(u[2] * (height - 4)), int(u[3] * (width - 4))
    mask = np.zeros((height, width), bool)
    mask[top:top + 1 + int(u[4] * (height - 2 - top)), left:left + 1 + int(u[5] * (width - 2 - left))] = True
    return mask


def blob(u, name, height, width):
    y = (np.arange(height)[:, None] - u[2] * height) / (1 + u[4] * height / 3)
    x = (np.arange(width)[None] - u[3] * width) / (1 + u[5] * width / 3)
    mask = (y * y + x * x <= 1) | (numbers(name + " noise", height, width) < 0.02)
    mask[height // 2, width // 2], mask[0, 0] = True, False
    return mask


def picture(i):
    """The prediction, whether of 8 bits, and the mask."""
    name = f"saliency {i}"
    u = numbers(name, 8)
    height, width = 7 + int(u[0] * 58), 7 + int(u[1] * 58)
    free = numbers(name + " prediction", height, width)
    if i < FREE and i % 4 < 2:
        mask = rectangle(u, height, width)
        if i % 4 == 0:
            return free, mask
        strength = 0.6 * u[6]
        return ((strength * mask + (1 - strength) * free) * 255).astype(np.uint8), mask
    mask = blob(u, name, height, width)
    if i >= FREE:
        return free, mask
    if i % 4 == 2:
        # Sums of such values are exact: in a quadrant of one value its variance is 0, not what rounding leaves.
        return np.where(mask, (8 + int(u[6] * 50)) / 64, free * u[7]), mask
    return np.where(mask, 25 + int(u[6] * 230), free * u[7] * 255).astype(np.uint8), mask


def is_free(prediction, mask):
    """Whether all nearest object pixels of each background pixel have one error."""
    place = np.argwhere(mask)
    error = np.abs(prediction[mask] - 1)
    for pixel in np.argwhere(~mask):
        distance = ((place - pixel) ** 2).sum(axis=1)
        nearest = error[distance == distance.min()]
        if (nearest != nearest[0]).any():
            return False
    return True


def measures(prediction, mask):
    bits = prediction.dtype == np.uint8
    pair = (prediction, mask.astype(np.uint8) * 255) if bits else (prediction, mask)
    binary = {"with_dynamic": False, "with_adaptive": False, "with_binary": True}
    overlap = sod.FmeasureV2({"iou": sod.IOUHandler(**binary), "dice": sod.DICEHandler(**binary),
                              "precision": sod.PrecisionHandler(**binary), "recall": sod.RecallHandler(**binary)})
    parts = [sod.MAE(), sod.Smeasure(), sod.Emeasure(), sod.Fmeasure(), sod.WeightedFmeasure(), overlap]
    for part in parts:
        part.step(*pair, normalize=bits)
    mae, s, e, f, weighted, o = (part.get_results() for part in parts)
    e, f = e["em"], f["fm"]
    return [mae["mae"], s["sm"], e["curve"].mean(), e["curve"].max(), e["adp"], f["curve"].mean(), f["curve"].max(),
            f["adp"], weighted["wfm"], *(o[k]["binary"] for k in ("iou", "dice", "precision", "recall"))]


def main():
    warnings.filterwarnings("ignore", message="This class will be removed")
    for i in range(FREE + TIED):
        prediction, mask = picture(i)
        p = prediction
        if p.dtype == np.uint8:
            p = p / 255
            p = (p - p.min()) / (p.max() - p.min())
        assert is_free(p, mask) == (i < FREE), i
        assert np.abs(p - min(2 * p.mean(), 1)).min() > 1e-12 or 2 * p.mean() >= 1, i
        values = measures(prediction, mask)
        assert np.isfinite(values).all(), i
        height, width = mask.shape
        print(f"{{{height}, {width}, {{" + ", ".join(f"{v:.12g}" for v in values) + "}},")


main()
