#!/usr/bin/env python3
"""Prints what one_vs_one_test.cpp and temperature_test.cpp compare with. Run once with numpy:

    python3 make_vote_values.py

Coupling here solves its linear system (Wu, Lin and Weng, JMLR 5, 2004, equation 21) at once; the temperature comes from a
golden-section search over the loss itself.
"""
import itertools

import numpy as np


def coupling(classes, second):
    r = np.zeros((classes, classes))
    for (i, j), p in zip(itertools.combinations(range(classes), 2), second):
        r[i, j], r[j, i] = 1 - p, p
    q = -r.T * r
    np.fill_diagonal(q, (r**2).sum(axis=0))
    system = np.block([[q, -np.ones((classes, 1))], [np.ones((1, classes)), np.zeros((1, 1))]])
    return np.linalg.solve(system, np.append(np.zeros(classes), 1.0))[:classes]


def temperature(logits, labels):
    ones, zeros = (labels == 1).sum(), (labels == 0).sum()
    targets = np.where(labels == 1, (ones + 1) / (ones + 2), 1 / (zeros + 2))

    def loss(log_t):
        z = logits / np.exp(log_t)
        return np.mean(np.logaddexp(0, z) - targets * z)

    low, high = np.log(1 / 16), np.log(16)
    ratio = (np.sqrt(5) - 1) / 2
    for _ in range(200):
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, b) if loss(a) < loss(b) else (a, high)
    return np.exp((low + high) / 2)


np.set_printoptions(precision=15)
print("coupling of 3", coupling(3, [0.7, 0.4, 0.45]))
print("coupling of 5", coupling(5, [0.9, 0.2, 0.65, 0.3, 0.15, 0.4, 0.35, 0.8, 0.55, 0.25]))
places = np.arange(40)
logits = 4 * np.sin(places) + 1
print("temperature", temperature(logits, (places % 3 < 1 + (logits > 0)).astype(float)))
print("temperature", temperature(np.array([-3.0, -2, 1, 4, 5]), np.array([0.0, 0, 1, 1, 1])))
print("temperature", temperature(logits / 8, (places % 3 < 1 + (logits > 0)).astype(float)))
