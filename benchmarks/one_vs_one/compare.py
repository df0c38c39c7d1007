#!/usr/bin/env python3
"""Trains configs/retinopathy/demo.yaml, and one network for all classes in as many steps as its ten have together; prints
what both come to on the same test, by the scheme of the vote. Each seed is a run of both, one after the other."""
import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

CONFIG = "configs/retinopathy/demo.yaml"
PAIRS = 10
EPOCHS = 5  # of a pair, in the configuration
FIGURES = ("macro_f1", "accuracy", "qwk")


def train(program, runs, seed, settings):
    words = [program, "train", CONFIG]
    for setting in (f"seed={seed}", f"runs={runs}", "tensorboard=false", f"training.epochs={EPOCHS}", *settings):
        words += ["--set", setting]
    start = time.monotonic()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    seconds = time.monotonic() - start
    (run,) = pathlib.Path(runs).iterdir()
    return json.loads((run / "result.json").read_text()), seconds


def row(rows, name, figures, seconds):
    rows.setdefault(name, []).append({**{figure: figures[figure] for figure in FIGURES}, "seconds": seconds})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="build/release/apps/headrace")
    parser.add_argument("--seeds", default="42", help="comma between them")
    parser.add_argument("--json", help="file that keeps the figures")
    options = parser.parse_args()
    rows = {}
    for seed in options.seeds.split(","):
        with tempfile.TemporaryDirectory() as folder:
            pairs, seconds = train(options.program, f"{folder}/pairs", seed, ())
            for vote in pairs["votes"]:
                row(rows, f"ten pairs, {vote['name']}", vote["test"], seconds)
            one, seconds = train(options.program, f"{folder}/one", seed,
                                 ("method=multi_class", f"training.epochs={PAIRS * EPOCHS}"))
            row(rows, "one network", one["members"][0]["test"], seconds)
        print(f"seed {seed} is done", flush=True)
    print(f"{'':24}" + "".join(f"{name:>22}" for name in (*FIGURES, "seconds")))
    for name, runs in rows.items():
        cells = []
        for figure in (*FIGURES, "seconds"):
            values = sorted(run[figure] for run in runs)
            digits = 0 if figure == "seconds" else 4
            spread = f" ({values[0]:.{digits}f} to {values[-1]:.{digits}f})" if len(values) > 1 else ""
            cells.append(f"{statistics.median(values):.{digits}f}{spread}")
        print(f"{name:24}" + "".join(f"{cell:>22}" for cell in cells))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
