"""What every Python contender does with its loader.

A contender goes through an epoch of --batches batches, says {"first": clock} after its first batch and
{"ready": true} after the last; then, for every line on standard input, through another, and says how
many patches came in how many seconds between an eighth of the epoch and its last eighth: filling and
draining of queues are left out for everybody. Lines are those of benchmarks/peers/images.
"""

import argparse
import gc
import itertools
import json
import os
import time
from pathlib import Path

import numpy as np


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--work", default="nnunet", help="nnunet or surface, or the file that is read")
    parser.add_argument("--patch", default="72,136,136")
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--batches", type=int, default=16)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cache", type=float, default=1.0, help="share of the data")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--variant", default="")
    args = parser.parse_args()
    args.patch = tuple(int(extent) for extent in args.patch.split(","))
    return args


def say(**what):
    print(json.dumps(what), flush=True)


def check(batch, args):
    image, label = batch
    wanted = (args.batch, 1, *args.patch)
    if tuple(image.shape) != wanted or tuple(label.shape) != wanted or not str(image.dtype).endswith("float32"):
        raise SystemExit(f"a batch is {image.dtype} {tuple(image.shape)}, its label {tuple(label.shape)}")


def one_epoch(batches, args, ready, first=None):
    edge = max(1, args.batches // 8)
    count = 0
    begun = ended = None
    for batch in itertools.islice(batches, ready + args.batches):
        count += 1
        if count == 1:
            check(batch, args)
            if first:
                first()
        if count == ready + edge:
            begun = time.monotonic()
        if count == ready + args.batches - edge:
            ended = time.monotonic()
    if count != ready + args.batches:
        raise SystemExit(f"{count} batches came, {args.batches} were asked for")
    return {"images": args.batch * (args.batches - 2 * edge), "seconds": ended - begun,
            "all_images": args.batch * (ready + args.batches)}


def serve(epoch, args, ready):
    """`epoch()` gives an endless iterator over pairs of image and label, of which `ready` may have been made before
    they were asked for: the clock begins behind those."""
    one_epoch(epoch(), args, ready, lambda: say(first=time.monotonic()))
    say(ready=True)
    try:
        while input():
            say(**one_epoch(epoch(), args, ready))
    except EOFError:
        pass


def serve_reading(open_volume, files, args):
    """`open_volume()` gives a function of slices that reads a box; it is opened anew for every cold epoch."""
    from concurrent.futures import ThreadPoolExecutor

    random = np.random.default_rng(11)
    pool = ThreadPoolExecutor(args.threads)
    patches = args.batch * args.batches
    state = {"read": None}

    def one(box):
        return state["read"](box).nbytes

    def epoch():
        if args.cold or state["read"] is None:
            if args.cold:
                evict(files)
            state["read"], shape = open_volume()
            state["shape"] = shape[-3:]
        boxes = []
        for _ in range(patches):
            begin = [int(random.integers(0, extent - p + 1)) for extent, p in zip(state["shape"], args.patch)]
            boxes.append(tuple(slice(b, b + p) for b, p in zip(begin, args.patch)))
        begun = time.monotonic()
        sum(pool.map(one, boxes))
        taken = time.monotonic() - begun
        if args.cold:
            state["read"] = None  # pages that are mapped would stay
            gc.collect()
        return {"images": patches, "seconds": taken, "all_images": patches}

    epoch()
    say(first=time.monotonic())
    say(ready=True)
    try:
        while input():
            say(**epoch())
    except EOFError:
        pass


def evict(files):
    """Drops the files' pages from the page cache."""
    for path in files:
        descriptor = os.open(path, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


class Boxes:
    """Where patches lie, by nnU-Net's rule: of a batch the last third (rounded) has a voxel of the label in
    its middle."""

    def __init__(self, label, patch, seed):
        self.random = np.random.default_rng(seed)
        self.patch = patch
        self.shape = label.shape[-3:]
        places = np.argwhere(label.reshape(self.shape) > 0)
        self.places = places[self.random.choice(len(places), min(10_000, len(places)), replace=False)]

    def begin(self, forced):
        """Of a patch, which may begin before the volume where that is smaller."""
        spare = [extent - p for extent, p in zip(self.shape, self.patch)]
        if not forced:
            return [int(self.random.integers(min(s, 0), max(s, 0) + 1)) if s >= 0 else s // 2 for s in spare]
        middle = self.places[self.random.integers(len(self.places))]
        return [int(np.clip(m - p // 2, min(0, s // 2), max(0, s))) if s >= 0 else s // 2
                for m, p, s in zip(middle, self.patch, spare)]


def cut(array, begin, patch, fill=0):
    """A box of the last three axes; what is outside is `fill`."""
    shape = array.shape[-3:]
    inside = tuple(slice(max(0, b), min(extent, b + p)) for b, p, extent in zip(begin, patch, shape))
    out = np.asarray(array[(slice(0, 1), *inside)])
    pad = [(max(0, -b), max(0, b + p - extent)) for b, p, extent in zip(begin, patch, shape)]
    if any(before or behind for before, behind in pad):
        out = np.pad(out, [(0, 0), *pad], constant_values=fill)
    return out


def enlarged(patch, degrees=30, least_scale=0.85):
    """The patch that nnU-Net reads, so that turning shows no outside."""
    angle = np.deg2rad(degrees)
    turns = [(1, 2), (0, 2), (0, 1)]
    largest = np.array(patch, dtype=float)
    for a, b in turns:
        turned = np.array(patch, dtype=float)
        turned[a] = patch[a] * np.cos(angle) + patch[b] * np.sin(angle)
        turned[b] = patch[b] * np.cos(angle) + patch[a] * np.sin(angle)
        largest = np.maximum(largest, turned)
    return tuple(int(extent) for extent in largest / least_scale)
