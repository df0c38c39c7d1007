"""A network trained under the limit of an emulated card: what was planned beside what came.

Run as a program by the steps `memory_*`; rows are written as benchmarks write theirs, as soon as each is known.
"""
import argparse
import csv
import json
import math
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from gpu_check import pictures  # noqa: E402
from gpu_check.results import write_json  # noqa: E402

NETWORKS = {
    "resnet18": ("classification", ["model.width={width}"]),
    "unet": ("segmentation", ["model.width={width}", "model.encoder=resnet18"]),
}
RESOURCES = 4  # exit status
UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
WITHIN = 5  # percent
STEPS = 50
EPOCHS = 10
FLAT_WITHIN = 1  # percent


def kept_to(text):
    """Bytes that a run took, as the line of its goal says; None where it has none."""
    said = re.search(r"^goal (?:gpu_memory|ram): .* (?:reserved|held) ([\d.]+) (\w+):", text, re.MULTILINE)
    return float(said[1]) * UNITS[said[2]] if said else None


def gibibytes(count):
    return f"{count / 2**30:.2f} GiB"


class Trial:
    def __init__(self, options):
        self.options = options
        self.name = f"{options.network} under {options.card}"
        self.rows = []
        shutil.rmtree(options.work, ignore_errors=True)
        options.work.mkdir(parents=True)
        cpu = options.cpu
        self.limit_key = "memory.limit" if cpu else "memory.gpu"
        self.goal_key = "goals.ram" if cpu else "goals.gpu_memory"
        task, settings = NETWORKS[options.network]
        data = options.work / "pictures"
        self.config = options.configs / task / "demo.yaml"
        self.settings = [text.format(width=0.25 if cpu else 1.0) for text in settings] + [
            f"image.size={32 if cpu else 320}", f"training.batch={8 if cpu else 32}", "training.epochs=1",
            "training.schedule.cosine.warmup_epochs=0", "data.split={validation: 0.15, test: 0.15}", f"device={'cpu' if cpu else 'cuda'}",
            f"runs={options.work / 'runs'}"]
        if task == "classification":
            pictures.write_classes(data, options.records)
            self.settings.append(f"data.train.folder={data}")
        else:
            pictures.write_masked(data, options.records)
            self.settings += [f"data.train.folder={data / 'images'}", f"data.train.masks={data / 'masks'}"]

    def keep(self, what, **row):
        self.rows.append({"section": f"{self.name}: {what}", "contender": "headrace", **row})
        write_json(self.options.json, {"benchmark": "memory_trial", "rows": self.rows})

    def keep_answer(self, what, yes, unit, figure, note):
        """Whether something is as it must be: a ratio of 1 or 0."""
        self.keep(what, median=figure, unit=unit, ratio=1.0 if yes else 0.0, goal=1, note=note)

    def headrace(self, command, settings=(), more=()):
        """(exit status, what it said)"""
        argv = shlex.split(self.options.headrace) + [command, str(self.config), *more]
        for setting in [*self.settings, *settings]:
            argv += ["--set", setting]
        print("+", shlex.join(argv), flush=True)
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print(done.stdout, flush=True)
        return done.returncode, done.stdout

    def profile(self):
        """What the program says of the stage, with the sizes that it tried."""
        file = self.options.work / "profile.json"
        status, text = self.headrace("profile-memory", [f"memory.limit={self.options.card}"] if self.options.cpu else [],
                                     ["--find-optimal", "--json", str(file), *([] if self.options.cpu else ["--card", self.options.card])])
        if status != 0:
            sys.exit(f"profile-memory must end with 0, got {status}: {text.strip().splitlines()[-1:]}")
        stage = json.loads(file.read_text())["stages"][0]
        self.tell_tried(stage)
        return stage

    def tell_tried(self, stage):
        largest, above = stage.get("largest"), stage.get("next")
        if largest is None:
            self.keep("the largest batch runs", missing="no batch fits: " + stage["verdict"])
            return
        good = largest["fits"] and largest["steps"] == STEPS
        self.keep_answer("the largest batch runs", good, "rows", largest["rows"], f"{largest['steps']} steps, {gibibytes(largest['bytes'])}")
        if above is None:
            self.keep("the next size does not", missing=f"{largest['rows']} rows are all that the data allow")
        else:
            self.keep_answer("the next size does not", not above["fits"], "rows", above["rows"], above["ended"] or gibibytes(above["bytes"]))

    def planned(self, stage):
        """Bytes of the plan that the goal counts, and of all that the limit counts."""
        if self.options.cpu:
            return stage["host_bytes"], stage["host_bytes"]
        return stage["device_bytes"] - stage["parts"]["device"].get("slots of loaders", 0), stage["device_bytes"]

    def held(self, stage):
        counted, needed = self.planned(stage)
        limit = int(1.1 * needed)
        status, text = self.headrace("train", [f"{self.limit_key}={limit}", f"{self.goal_key}={limit}", f"training.epochs={EPOCHS}"])
        self.keep_answer("the plan and 10 % are enough", status == 0, "GiB", limit / 2**30, f"exit {status}")
        peak = kept_to(text)
        if peak is None:
            self.keep("peak beside the plan", missing=f"the run ended with {status} and no line of its goal")
            return
        self.keep("peak beside the plan", median=100 * abs(peak / counted - 1), unit="% off", goal=WITHIN, goal_is="at most",
                  goal_of="median", note=f"{gibibytes(peak)}, planned {gibibytes(counted)}")
        self.flat()

    def flat(self):
        """Peaks of the epochs of the run that was held; of the first libraries try what they need."""
        with open(self.runs()[-1] / "metrics.csv", newline="", encoding="utf-8") as table:
            peaks = [float(row["training_tensors_peak_bytes"]) for row in csv.DictReader(table) if row["training_tensors_peak_bytes"]][1:]
        spread = 100 * (max(peaks) / min(peaks) - 1)
        self.keep("peaks of its epochs", median=spread, unit="% apart", goal=FLAT_WITHIN, goal_is="at most", goal_of="median",
                  note=f"{len(peaks)} epochs, {gibibytes(max(peaks))} at most")

    def stages(self, rows):
        """The setting of two stages, the first one of small batches."""
        return f"training.stages=[{{name: small, epochs: 1, batch: {rows}, evaluation_batch: {rows}}}, {{name: whole, epochs: 1}}]"

    def second_stage(self, stage):
        """One that takes more, behind one that fits."""
        what = "a second stage too large is seen before the first"
        if self.options.cpu:
            self.keep(what, missing="needs a GPU: so small a stage differs by less than a process does")
            return
        points = sorted(stage["measured"]["points"], key=lambda point: point["rows"])
        least, most = (max(point["training_bytes"], point["evaluation_bytes"]) for point in (points[0], points[-1]))
        rows, before = points[0]["rows"], self.runs()
        limit = int(self.planned(stage)[1] - (most - least) / 2)
        status, text = self.headrace("train", [f"{self.limit_key}={limit}", self.stages(rows)])
        seen = status == RESOURCES and "stage whole must fit" in text and self.runs() == before
        self.keep_answer(what, seen, "GiB", limit / 2**30, f"exit {status}")

    def refused(self, stage):
        limit = int(0.8 * self.planned(stage)[1])
        before = self.runs()
        status, _ = self.headrace("train", [f"{self.limit_key}={limit}"])
        self.keep_answer("the plan less 20 % is refused", status == RESOURCES and self.runs() == before, "GiB", limit / 2**30,
                         f"exit {status}, {'no run' if self.runs() == before else 'a run'} begun")

    def runs(self):
        return sorted(self.options.work.glob("runs/*"))

    def too_many_rows(self, stage):
        """Of a training batch: the largest that fits may be one that evaluates more rows at once."""
        points = sorted(stage["measured"]["points"], key=lambda point: point["rows"])
        per_row = (points[-1]["training_bytes"] - points[0]["training_bytes"]) / (points[-1]["rows"] - points[0]["rows"])
        card = float(re.match(r"[\d.]+", self.options.card)[0]) * UNITS["GiB"]
        return 8 * math.ceil(1.5 * card / per_row / 8)

    def stepped_down(self, stage):
        """What takes half as much again as the card has, and no plan that sees it."""
        what = "a batch too large is halved"
        if "largest" not in stage or self.options.cpu:
            self.keep(what, missing="needs a GPU" if self.options.cpu else "no batch fits")
            return
        rows = self.too_many_rows(stage)
        status, text = self.headrace("train", [f"memory.gpu={self.options.card}", "memory.measure=false", f"training.batch={rows}",
                                               f"training.evaluation_batch={stage['largest']['rows']}"])
        self.keep_answer(what, status == 0 and "the step is done again with" in text, "rows", rows, f"exit {status}")

    def run(self):
        stage = self.profile()
        self.held(stage)
        self.refused(stage)
        self.second_stage(stage)
        self.stepped_down(stage)
        return 0


def arguments(words):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--headrace", required=True, help="the command that starts the program")
    parser.add_argument("--configs", type=pathlib.Path, required=True)
    parser.add_argument("--network", choices=sorted(NETWORKS), required=True)
    parser.add_argument("--card", required=True, help="its memory, as 16GiB")
    parser.add_argument("--records", type=int, required=True, help="pictures; more than fit the card in a batch")
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--json", type=pathlib.Path, required=True)
    parser.add_argument("--cpu", action="store_true", help="small, with that limit for the process")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(Trial(arguments(sys.argv[1:])).run())
