"""What every Python contender does with its loader.

Arguments: --data FOLDER --batches N --threads N --batch N. A contender opens an epoch of N batches
at a time. It goes through one, says {"first": clock, ...} after its first batch and {"ready": true}
after the last; then, for every line on standard input, through another, and says how many images
came in how many seconds between an eighth of the epoch and its last eighth: filling and draining of
queues are left out for everybody.
"""

import argparse
import json
import time
from pathlib import Path


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--batches", type=int, default=32)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cache", type=Path, help="where a contender may keep a file of its own format")
    parser.add_argument("--variant", default="")
    return parser.parse_args()


def files(data):
    """Paths and labels, sorted."""
    return [(path, int(path.parent.name[-1])) for path in sorted(data.glob("*/*.jpg"))]


def say(**what):
    print(json.dumps(what), flush=True)


def one_epoch(epoch, batches, batch, first=None):
    edge = max(1, batches // 8)
    count = 0
    begun = ended = None
    for images in epoch():
        count += 1
        if count == 1:
            shape, dtype = tuple(images.shape), str(images.dtype)
            if shape[0] != batch or 224 not in shape or not dtype.endswith("uint8"):
                raise SystemExit(f"a batch is {dtype} {shape}")
            if first:
                first()
        if count == edge:
            begun = time.monotonic()
        if count == batches - edge:
            ended = time.monotonic()
    if count != batches:
        raise SystemExit(f"{count} batches came, {batches} were asked for")
    return {"images": batch * (batches - 2 * edge), "seconds": ended - begun,
            "all_images": batch * batches}


def serve(epoch, args):
    """`epoch()` iterates over args.batches uint8 batches."""
    one_epoch(epoch, args.batches, args.batch, lambda: say(first=time.monotonic()))
    say(ready=True)
    try:
        while input():
            say(**one_epoch(epoch, args.batches, args.batch))
    except EOFError:
        pass
