#!/usr/bin/env python3
"""Points of the two spirals of examples/recipe for a prediction, and whether it was right.

usage: spirals.py make OUT.npy | check PREDICTIONS.csv
"""
import csv
import math
import struct
import sys

COUNT = 200


def point(i):
    radius = 0.1 + 0.85 * i / COUNT
    angle = math.pi * (3.0 * radius + i % 2)
    return radius * math.cos(angle), radius * math.sin(angle)


def make(file):
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 2), }" % COUNT
    header = header.ljust(117) + "\n"
    values = [x for i in range(COUNT) for x in point(i)]
    with open(file, "wb") as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        out.write(struct.pack("<%df" % len(values), *values))


def check(file):
    with open(file, encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    right = sum(int(row["predicted"]) == i % 2 for i, row in enumerate(rows))
    print(f"{right} of {len(rows)} points are right")
    sys.exit(0 if len(rows) == COUNT and right > 0.95 * COUNT else 1)


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](sys.argv[2])
