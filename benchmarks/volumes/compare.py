"""The same volumes, patches and batches through every loader in turn: augmented as nnU-Net does, with every
patch changed, and only read."""

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "peers/images"))
import process  # noqa: E402

OURS = "headrace"
# name, program ("" is ours), variant, batches of an epoch
AUGMENTED = {
    "nnunet": [(OURS, "", "", 64), ("batchgeneratorsv2, arrays in memory", "nnunet.py", "memory", 16),
               ("batchgeneratorsv2, b2nd mapped", "nnunet.py", "b2nd", 16),
               ("TorchIO", "torchio_loader.py", "", 12), ("MONAI", "monai_loader.py", "", 12)],
    "surface": [(OURS, "", "", 64), ("batchgeneratorsv2, arrays in memory", "nnunet.py", "memory", 6),
                ("MONAI", "monai_loader.py", "", 4), ("TorchIO", "torchio_loader.py", "", 3)],
}
READ = {
    "large.zarr": [(OURS, "", "", 24), ("tensorstore", "readers.py", "tensorstore", 24),
                   ("zarr-python", "readers.py", "zarr", 6)],
    "large.b2nd": [(OURS, "", "", 24), ("python-blosc2", "readers.py", "blosc2", 24)],
    "large.h5": [(OURS, "", "", 24), ("h5py", "readers.py", "h5py", 12)],
    "large.nii": [(OURS, "", "", 24), ("nibabel", "readers.py", "nibabel", 24)],
}
# The work, the contender that ours is held against ("": every one), and how many times as fast ours is to be
GOALS = {"nnunet": ("batchgeneratorsv2", 10.0), "surface": ("batchgeneratorsv2", 25.0),
         "large.zarr": ("", 1.0), "large.b2nd": ("", 1.0)}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, prog="run")
    parser.add_argument("--sections", default="nnunet,surface,large.zarr,large.b2nd,large.h5,large.nii",
                        help="[%(default)s]")
    parser.add_argument("--only", default="", help="contenders whose name contains one of these words")
    parser.add_argument("--patch", default="72,136,136", help="voxels along z, y, x [%(default)s]")
    parser.add_argument("--batch", type=int, default=2, help="[%(default)s]")
    parser.add_argument("--threads", type=int, default=2,
                        help="threads or processes of a contender, and cores for all [%(default)s]")
    parser.add_argument("--repeats", type=int, default=5, help="rounds in turn [%(default)s]")
    parser.add_argument("--seconds", type=float, default=600,
                        help="no round of a section begins later [%(default)s]")
    parser.add_argument("--caches", default="1,0.25", help="shares of the data, for reading [%(default)s]")
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache/volumes", help="what setup made [%(default)s]")
    parser.add_argument("--program", type=Path,
                        default=ROOT / "build/release/benchmarks/volumes/volumes_benchmark")
    parser.add_argument("--json", type=Path, help="writes all figures")
    return parser.parse_args()


class Row:
    """A contender at one work."""

    def __init__(self, entry, work, args, more):
        self.name, program, variant, batches = entry
        self.result = {"name": self.name}
        self.running = None
        self.command = [str(args.program), "--serve", work]
        if program:
            self.command = [sys.executable, str(HERE / "contenders" / program), "--work", work]
        self.command += ["--folder", str(args.cache / "data"), "--patch", args.patch, "--batch", str(args.batch),
                         "--threads", str(args.threads), "--batches", str(batches), *more]
        if variant:
            self.command += ["--variant", variant]
        words = f"{work}-{self.name}-{''.join(more)}"
        self.log = args.cache / "logs" / "".join(c if c.isalnum() else "-" for c in words)

    def step(self, what):
        """Does it, or keeps the reason why there is no figure."""
        try:
            what()
        except (process.Failed, OSError) as failure:
            self.result["absent"] = str(failure)
            self.close()

    def open(self):
        self.running = process.Contender(self.command, self.log)
        self.result["first_s"], self.result["peak_mib"] = self.running.watch_memory()
        self.signal(signal.SIGSTOP)

    def signal(self, which):
        """Whose turn it is not stands still: its processes would go on making batches beside others."""
        os.killpg(self.running.program.pid, which)

    def round(self):
        self.signal(signal.SIGCONT)
        rate, cpu = self.running.round()
        self.signal(signal.SIGSTOP)
        self.result.setdefault("rates", []).append(rate)
        self.result.setdefault("cpu", []).append(cpu)

    def close(self):
        if self.running:
            self.running.stop()
        self.running = None


def compare(work, entries, args, more=()):
    """All of them started one after the other, each to the end of an epoch; then rounds in turn."""
    words = [word.lower() for word in args.only.split(",") if word]
    rows = [Row(entry, work, args, list(more)) for entry in entries
            if not words or any(word in entry[0].lower() for word in words)]
    begun = time.monotonic()
    for row in rows:
        row.step(row.open)
    for _ in range(args.repeats):
        for row in rows:
            if row.running and time.monotonic() - begun < args.seconds:
                row.step(row.round)
    for row in rows:
        row.close()
    return [row.result for row in rows]


def verdict(work, name, times):
    whom, goal = GOALS.get(work, ("", None))
    if goal is None or name == OURS or whom not in name:
        return ""
    return f"  goal {goal:g}: {'held' if times >= goal else 'missed'}"


def table(work, rows):
    yield f"{'':<38}{'patches/s':>10}{'spread':>17}{'headrace is':>13}{'CPU ms each':>13}{'peak MiB':>10}"
    rates = {row["name"]: median(row["rates"]) for row in rows if row.get("rates")}
    ours = next((row["peak_mib"] for row in rows if row["name"] == OURS and row["name"] in rates), 0)
    for row in rows:
        name = row["name"]
        if name not in rates:
            yield f"{name:<38}  not run: {row.get('absent', 'no time was left')}"
            continue
        spread = f"{min(row['rates']):.2f}-{max(row['rates']):.2f}"
        times = rates[OURS] / rates[name] if OURS in rates else 0
        yield (f"{name:<38}{rates[name]:>10.2f}{spread:>17}{f'{times:.2f} x' if times else '-':>13}"
               f"{1000 * median(row['cpu']):>13.2f}{row['peak_mib']:>10.0f}{verdict(work, name, times)}"
               f"{'  less memory than ours' if row['peak_mib'] < ours else ''}")


def main():
    args = arguments()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:args.threads])
    (args.cache / "logs").mkdir(parents=True, exist_ok=True)
    print(process.machine(args.threads))
    print(f"medians of {args.repeats} rounds in turn; patches of {args.patch}, batch {args.batch}; memory is the "
          "proportional set of all processes")
    every = {}

    def section(title, work, entries, more=()):
        print(f"\n{title}", flush=True)
        every[title] = compare(work, entries, args, more)
        print("\n".join(table(work, every[title])), flush=True)
        if args.json:
            args.json.write_text(json.dumps({"machine": process.machine(args.threads), "sections": every}, indent=1))

    for work in args.sections.split(","):
        if work in AUGMENTED:
            section({"nnunet": "nnU-Net's augmentation", "surface": "every patch changed"}[work], work,
                    AUGMENTED[work])
            continue
        for share in args.caches.split(","):
            for cold in (False, True):
                title = f"{work}, {'cold' if cold else 'warm'}, cache of {100 * float(share):g} % of the data"
                section(title, work, READ[work], ["--cache", share, *(["--cold"] if cold else [])])


if __name__ == "__main__":
    main()
