"""The same photographs, the same work, one run: decode, random-resized crop to 224 (area .08-1, ratio
3/4-4/3), flip, uint8 batch of 64, through every loader in turn."""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import process
import report

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
REFERENCE = "headrace, files"
LIMIT = "bare threads, same decoder (limit)"

# name, kind, program, variant, how many times the batches of the slowest
CONTENDERS = [
    (LIMIT, "limit", "peer_images", "bare", 4),
    ("bare threads, plain resize", "limit", "peer_images", "bare-plain", 4),
    (REFERENCE, "headrace", "peer_images", "files", 4),
    ("headrace, files, plain resize", "headrace", "peer_images", "files-plain", 4),
    ("headrace, packed", "headrace", "peer_images", "packed", 4),
    ("headrace, crop-indexed", "headrace", "peer_images", "crop-indexed", 4),
    ("torch::data, our decoder", "peer", "peer_torch_data", "", 4),
    ("mlx-data", "peer", "mlx_loader.py", "", 2),
    ("FFCV", "peer", "ffcv_loader.py", "", 2),
    ("DALI on CPU", "peer", "dali.py", "", 1),
    ("DataLoader, torchvision's decoder", "peer", "torchvision_loader.py", "decoder", 1),
    ("DataLoader, PIL", "peer", "torchvision_loader.py", "pil", 1),
    ("SPDL", "peer", "spdl_loader.py", "", 1),
]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, prog="run")
    parser.add_argument("--sets", default="mate-500x375-q90,mate-500x375-q95,mate-2000x1500,"
                        "plasma-500x375-q90,plasma-2000x1500", help="which photographs [%(default)s]")
    parser.add_argument("--only", default="", help="contenders whose name contains one of these words")
    parser.add_argument("--repeats", type=int, default=7, help="rounds in turn [%(default)s]")
    parser.add_argument("--threads", type=int, default=2, help="threads or processes of a contender, "
                        "and cores for all [%(default)s]")
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache/peers-images",
                        help="what setup made [%(default)s]")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release/benchmarks/peers/images")
    parser.add_argument("--chart", type=Path, help="writes a bar chart of the first set (SVG)")
    parser.add_argument("--json", type=Path, help="writes all figures")
    return parser.parse_args()


class Row:
    """A contender on one set of photographs."""

    def __init__(self, entry, args, data):
        self.name, self.kind, program, variant, times = entry
        large = "2000x1500" in data.name
        batches = (4 if large else 12) * times
        script = program.endswith(".py")
        self.command = ([sys.executable, str(HERE / "contenders" / program)] if script
                        else [str(args.build / program)])
        self.command += ["--data", str(data), "--batches", str(batches), "--threads",
                         str(args.threads), "--cache", str(args.cache)]
        if variant:
            self.command += ["--variant", variant]
        self.own_format = self.name == "FFCV" or variant in ("packed", "crop-indexed")
        self.log = args.cache / "logs" / f"{data.name}-{self.name.replace(' ', '-').replace(':', '')}.txt"
        forms = {"packed": ".pack", "crop-indexed": "-crop-indexed.pack"}
        self.written = args.cache / (data.name + forms.get(variant, f"-{64 * batches}.beton"))
        self.missing = args.cache / f"absent-{program.split('_')[0].split('.')[0]}"
        self.result = {"name": self.name, "kind": self.kind}
        self.running = None

    def prepare(self):
        """Who reads a file format of its own writes that file once: no part of any figure."""
        if self.missing.exists() or not self.own_format or self.written.exists():
            return
        with open(self.log, "w") as log:
            subprocess.run(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def open(self, watch):
        """Starts the program; without it the reason goes into the table."""
        if self.missing.exists():
            return self.give_up(self.missing.read_text())
        try:
            self.running = process.Contender(self.command, self.log)
            if watch:
                self.result["first_s"], self.result["peak_mib"] = self.running.watch_memory()
            else:
                self.running.start()
        except (process.Failed, FileNotFoundError) as failure:
            self.give_up(str(failure))

    def give_up(self, why):
        self.result["absent"] = why
        self.result.pop("rates", None)
        self.close()

    def close(self):
        if self.running:
            self.running.stop()
        self.running = None

    def round(self):
        try:
            rate, cpu = self.running.round()
            self.result.setdefault("rates", []).append(rate)
            self.result.setdefault("cpu", []).append(cpu)
        except process.Failed as failure:
            self.give_up(str(failure))


def compare(args, data):
    """Every contender alone for its first batch and its memory; then all of them, waiting, each of
    them running for a round in turn."""
    words = [word for word in args.only.split(",") if word]
    rows = [Row(entry, args, data) for entry in CONTENDERS
            if not words or any(word.lower() in entry[0].lower() for word in words)]
    for path in data.glob("*/*.jpg"):
        path.read_bytes()  # warm
    for row in rows:
        row.prepare()
        row.open(watch=True)
        row.close()
    for row in rows:
        if "absent" not in row.result:
            row.open(watch=False)
    print(f"{sum(1 for row in rows if row.running)} contenders are ready", file=sys.stderr, flush=True)
    for _ in range(args.repeats):
        for row in rows:
            if row.running:
                row.round()
    for row in rows:
        row.close()
    return [row.result for row in rows]


def main():
    args = arguments()
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:args.threads])
    (args.cache / "logs").mkdir(parents=True, exist_ok=True)
    print(process.machine(args.threads))
    print(f"medians of {args.repeats} rounds in turn; page cache warm; batch of 64; memory is the "
          "proportional set of all processes")
    every = {}
    for name in args.sets.split(","):
        data = args.cache / "sets" / name
        pictures = sorted(data.glob("*/*.jpg"))
        kib = sum(path.stat().st_size for path in pictures) / len(pictures) / 1024
        print(f"\n{name}: {len(pictures)} pictures, {kib:.0f} KiB on average", flush=True)
        every[name] = compare(args, data)
        print("\n".join(report.table(every[name], REFERENCE, LIMIT)), flush=True)
        if args.json:
            args.json.write_text(json.dumps({"machine": process.machine(args.threads), "sets": every}, indent=1))
        if args.chart and len(every) == 1:
            args.chart.write_text(report.chart(
                every[name], "Images a second, 2 cores: decode, random-resized crop to 224, flip",
                f"{name}, batch of 64, page cache warm; {process.machine(args.threads)}"))


if __name__ == "__main__":
    main()
