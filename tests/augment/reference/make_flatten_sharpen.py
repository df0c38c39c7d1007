#!/usr/bin/env python3
"""Writes flatten_sharpen_reference.inc: what NumPy makes of small pictures by the rule of
augment/flatten_sharpen.h. Run once with NumPy 2.4.6:

    python3 make_flatten_sharpen.py > flatten_sharpen_reference.inc

picture() and noise() are those of pixels.h and tests/support/picture.h.
"""
import numpy as np


def picture(width, height, channels, seed=1):
    pixels, state = [], (seed * 2654435761 + 1) % 2**32
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                state = (state * 1664525 + 1013904223) % 2**32
                v = (x * (3 + c) + y * (5 - c) + seed * 40) % 256
                v = 2 * v if v < 128 else 511 - 2 * v
                if x + y > (width + height) // 2:
                    v = 255 - v
                pixels.append(min(max(v + (state >> 28) - 8, 0), 255))
    return np.array(pixels, np.int64).reshape(height, width, channels)


def noise(width, height, channels, seed=1):
    pixels, state = [], seed
    for _ in range(width * height * channels):
        state = (state * 1664525 + 1013904223) % 2**32
        pixels.append(state >> 24)
    return np.array(pixels, np.int64).reshape(height, width, channels)


def edges_of(side, block):
    """Where blocks begin, and the end: a rest below half a block joins the last one."""
    edges = list(range(0, side, block)) + [side]
    if len(edges) > 2 and 2 * (edges[-1] - edges[-2]) < block:
        del edges[-2]
    return np.array(edges)


def block_means(image, block):
    down, across = edges_of(image.shape[0], block), edges_of(image.shape[1], block)
    rows = [[image[a:b, c:d].mean(axis=(0, 1)) for c, d in zip(across, across[1:])]
            for a, b in zip(down, down[1:])]
    return np.array(rows), (down[:-1] + down[1:]) / 2, (across[:-1] + across[1:]) / 2


def shares(side, middles, steps):
    """For each pixel the blocks before and behind it, and the second one's share."""
    at = np.arange(side) + 0.5
    second = np.searchsorted(middles, at, side="right")
    first = np.clip(second - 1, 0, len(middles) - 1)
    second = np.clip(second, 0, len(middles) - 1)
    span = np.where(first == second, 1, middles[second] - middles[first])
    share = np.where(first == second, 0, (at - middles[first]) / span)
    return first, second, np.floor(share * steps + 0.5) / steps if steps else share


def background(image, block, exact):
    means, high, wide = block_means(image, block)
    whole = (lambda v: v) if exact else (lambda v: np.floor(v * 128 + 0.5) / 128)
    means = whole(means)
    first, second, share = shares(image.shape[1], wide, 0 if exact else 256)
    share = share[None, :, None]
    lines = means[:, first] + whole((means[:, second] - means[:, first]) * share)
    first, second, share = shares(image.shape[0], high, 0 if exact else 256)
    share = share[:, None, None]
    return lines[first] * (1 - share) + lines[second] * share


def rounded(values):
    return np.clip(np.floor(values + 0.5), 0, 255)


def flattened(image, block, exact=False):
    return rounded(image - background(image, block, exact) + 128)


def flatten_sharpen(image, block=30, brightness=20, contrast=2.0, sharpness=1.5):
    levels = np.clip(flattened(image, block) + brightness, 0, 255)
    levels = rounded((levels - 128) * contrast + 128)
    wide = np.pad(levels, ((1, 1), (1, 1), (0, 0)), mode="reflect")
    around = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
    return rounded((1 + 4 * sharpness) * levels - sharpness * around)


def show(name, image):
    values = image.astype(int).flatten().tolist()
    print(f"const Pixels {name} = {{")
    for i in range(0, len(values), 24):
        print("    " + ", ".join(str(v) for v in values[i : i + 24]) + ",")
    print("};")


def main():
    print("// Made by make_flatten_sharpen.py; clang-format off")
    waves = picture(37, 26, 3)
    show("grey_30", flatten_sharpen(picture(47, 46, 1)))
    show("waves_8", flatten_sharpen(waves, 8, -30, 1.25, 0.3125))
    show("waves_8_exact", flattened(waves, 8, exact=True))
    show("grey_5", flatten_sharpen(noise(13, 9, 1), 5, 0, 0.5, 2.0))
    show("noise_2", flatten_sharpen(noise(3, 2, 2), 2, 5, 1.0, 0.25))


main()
