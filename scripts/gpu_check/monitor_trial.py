"""What `headrace monitor` says of each GPU beside what nvidia-smi says of it in the same seconds, under load.

Run as a program by the step `monitor`; rows are written as benchmarks write theirs.
"""
import argparse
import csv
import datetime
import json
import os
import pathlib
import shlex
import statistics
import subprocess
import sys
import time

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from gpu_check.results import write_json  # noqa: E402

LEAST_SECONDS = 10  # of a mean
LOAD_BYTES = 4 * 2**30
MIB = 2**20


class Figure:
    """A figure that both tell: the key of system.jsonl and the field of nvidia-smi, in one unit."""

    def __init__(self, name, key, field, unit, within, of_share=True, scale=1.0):
        self.name, self.key, self.field, self.unit, self.within, self.of_share, self.scale = name, key, field, unit, within, of_share, scale

    def off(self, ours, theirs):
        """How far ours is from theirs, in what `within` is in."""
        if not self.of_share:
            return abs(ours - theirs)
        return 100 * abs(ours - theirs) / abs(theirs) if theirs else 0.0 if not ours else 100.0

    @property
    def unit_off(self):
        return "% off" if self.of_share else f"{self.unit} apart"


FIGURES = [
    Figure("memory used", "memory_used_bytes", "memory.used", "MiB", 2, scale=1 / MIB),
    Figure("memory in all", "memory_total_bytes", "memory.total", "MiB", 2, scale=1 / MIB),
    Figure("busy", "busy_share", "utilization.gpu", "points", 10, of_share=False, scale=100),
    Figure("temperature", "temperature_c", "temperature.gpu", "C", 2, of_share=False),
    Figure("power", "power_w", "power.draw", "W", 10),
    Figure("SM clock", "sm_clock_mhz", "clocks.sm", "MHz", 10),
    Figure("memory clock", "memory_clock_mhz", "clocks.mem", "MHz", 10),
]
FIELDS = ["timestamp", "index", "name"] + [figure.field for figure in FIGURES]


def number(text):
    """None where nvidia-smi does not tell: [N/A]."""
    try:
        return float(text)
    except ValueError:
        return None


def of_nvidia_smi(text):
    """Samples of `--query-gpu=FIELDS --format=csv,noheader,nounits`: {index: [(seconds since 1970, name, {field: number})]}."""
    samples = {}
    for cells in csv.reader(text.splitlines(), skipinitialspace=True):
        try:
            at = datetime.datetime.strptime(cells[0], "%Y/%m/%d %H:%M:%S.%f").timestamp()  # of this place
            index = int(cells[1])
        except (ValueError, IndexError):
            continue  # a line that was torn, or a remark
        if len(cells) == len(FIELDS):
            samples.setdefault(index, []).append((at, cells[2], dict(zip(FIELDS[3:], map(number, cells[3:])))))
    return samples


def of_monitor(text):
    """Samples of `headrace monitor --output`: {index: [(seconds since 1970, name, {key: number})]}."""
    samples = {}
    for line in text.splitlines():
        try:
            sample = json.loads(line)
        except ValueError:
            continue  # torn
        at = datetime.datetime.fromisoformat(sample["time"].replace("Z", "+00:00")).timestamp()
        for gpu in sample.get("gpus", []):
            samples.setdefault(gpu["index"], []).append((at, gpu["name"], gpu))
    return samples


def mean(samples, window, key):
    values = [figures[key] for at, _, figures in samples if window[0] <= at <= window[1] and figures.get(key) is not None]
    return statistics.fmean(values) if values else None


def window_of(ours, theirs):
    """The seconds that both saw."""
    return max(ours[0][0], theirs[0][0]), min(ours[-1][0], theirs[-1][0])


def compared(index, ours, theirs):
    """Rows about one GPU."""
    def row(what, **more):
        return {"section": f"GPU {index}: {what}", "contender": "headrace", **more}
    window = window_of(ours, theirs)
    if window[1] - window[0] < LEAST_SECONDS:
        return [row("all figures", missing=f"both saw it for {max(0, window[1] - window[0]):.1f} s, {LEAST_SECONDS} are needed", goal=1)]
    name, wanted = ours[-1][1], theirs[-1][1]
    rows = [row("name", median=float(name == wanted), unit="the same", ratio=float(name == wanted), goal=1, note=f"{name}, {wanted}")]
    for figure in FIGURES:
        said = mean(theirs, window, figure.field)
        if said is None:
            continue  # neither could be right
        own = mean(ours, window, figure.key)
        goal = {"goal": figure.within, "goal_is": "at most", "goal_of": "median", "unit": figure.unit_off}
        if own is None:
            rows.append(row(figure.name, median=None, note=f"not told; nvidia-smi: {said:.5g} {figure.unit}", **goal))
            continue
        own *= figure.scale
        rows.append(row(figure.name, median=figure.off(own, said), note=f"{own:.5g} {figure.unit}, nvidia-smi: {said:.5g}", **goal))
    return rows


def compare(ours, theirs):
    """Rows about every GPU that nvidia-smi or the monitor saw."""
    rows = []
    for index in sorted({*ours, *theirs}):
        if index in ours and index in theirs:
            rows += compared(index, ours[index], theirs[index])
        else:
            rows.append({"section": f"GPU {index}: seen", "contender": "headrace", "median": 0.0, "unit": "by both", "ratio": 0.0, "goal": 1,
                         "note": f"seen by {'headrace' if index in ours else 'nvidia-smi'} alone"})
    return rows


def load(seconds):
    """Keeps every GPU busy with its memory in use; says `ready` once it does."""
    import torch
    devices = [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
    if not devices:
        sys.exit("torch sees no GPU")
    held = [torch.zeros(LOAD_BYTES, dtype=torch.uint8, device=device) for device in devices]
    factors = [torch.randn(4096, 4096, device=device) for device in devices]
    started, ready = time.monotonic(), False
    while held and time.monotonic() - started < seconds:
        for factor in factors:
            torch.mm(factor, factor)
        for device in devices:
            torch.cuda.synchronize(device)
        if not ready and time.monotonic() - started > 2:
            print("ready", flush=True)
            ready = True
    return 0


class Trial:
    def __init__(self, options):
        self.options = options
        self.samples = options.work / "system.jsonl"
        self.smi = options.work / "nvidia-smi.csv"
        options.work.mkdir(parents=True, exist_ok=True)

    def busy(self):
        """A process that keeps the GPUs busy; None without one."""
        if self.options.cpu:
            return None
        process = subprocess.Popen([sys.executable, "-B", __file__, "--load", str(self.options.seconds + 15)], stdout=subprocess.PIPE, text=True)
        if process.stdout.readline().strip() != "ready":
            process.wait()
            print("the GPUs stay idle: the load did not start", flush=True)
            return None
        return process

    def watch(self):
        self.samples.unlink(missing_ok=True)
        monitor = shlex.split(self.options.headrace) + ["monitor", "--interval", "1s", "--duration", f"{self.options.seconds}s",
                                                         "--output", str(self.samples)]
        asked = None
        with open(self.smi, "w") as out:
            if not self.options.cpu:
                asked = subprocess.Popen([self.options.nvidia_smi, f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits", "-lms", "500"],
                                         stdout=out)
            try:
                # It shows what CUDA_VISIBLE_DEVICES does, nvidia-smi all.
                return subprocess.run(monitor, env={name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}).returncode
            finally:
                if asked:
                    asked.terminate()
                    asked.wait()

    def run(self):
        busy = self.busy()
        try:
            status = self.watch()
        finally:
            if busy:
                busy.kill()
                busy.wait()
        if status != 0:
            sys.exit(f"headrace monitor must end with 0, got {status}")
        ours = of_monitor(self.samples.read_text())
        rows = compare(ours, of_nvidia_smi(self.smi.read_text()))
        if not rows:
            rows = [{"section": "GPU: all figures", "contender": "headrace", "missing": "neither saw a GPU", "goal": 1}]
        write_json(self.options.json, {"benchmark": "monitor_trial", "rows": rows})
        for row in rows:
            print(f"{row['section']}: {row.get('missing') or row['note']}", flush=True)
        return 0


def arguments(words):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--headrace", help="the command that starts the program")
    parser.add_argument("--nvidia-smi", default="nvidia-smi")
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--work", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--cpu", action="store_true", help="without nvidia-smi and load")
    parser.add_argument("--load", type=int, metavar="SECONDS", help="keep the GPUs busy, and stop")
    return parser.parse_args(words)


def main(words):
    options = arguments(words)
    return load(options.load) if options.load else Trial(options).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
