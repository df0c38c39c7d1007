"""The command line of scripts/gpu-check."""
import argparse
import os
import pathlib
import shutil
import signal
import sys

from gpu_check.claims import judge_all, table
from gpu_check.place import Place
from gpu_check.results import Results
from gpu_check.runner import run_step
from gpu_check.steps import STEPS, Context


def parse(arguments, usage):
    parser = argparse.ArgumentParser(prog="gpu-check", description=usage, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", type=int, choices=sorted({step.part for step in STEPS}), action="append",
                        help="one part alone; repeatable")
    parser.add_argument("--step", choices=[step.name for step in STEPS], action="append", help="one step alone; repeatable")
    parser.add_argument("--output", default="gpu-check-results", help="folder of the results (default: %(default)s)")
    parser.add_argument("--build", help="build folder of a checkout (default: build/release)")
    parser.add_argument("--dry-run", action="store_true", help="say what would run, and stop")
    parser.add_argument("--cpu", action="store_true", help="the steps' forms for a machine without a GPU")
    return parser.parse_args(arguments)


def has_gpu():
    return any(os.path.exists(device) for device in ("/dev/nvidiactl", "/dev/dxg"))  # Linux, WSL


def chosen_steps(options):
    return [step for step in STEPS
            if (not options.part or step.part in options.part) and (not options.step or step.name in options.step)]


def megabytes(count):
    return f"{count / 2**20:.1f} MiB"


def dry_run(steps, context):
    for name, count in context.place.sizes():
        print(f"{name:12} {megabytes(count):>10}")
    for part in sorted({step.part for step in steps}):
        ours = [step for step in steps if step.part == part]
        print(f"\npart {part}: at most {sum(step.seconds for step in ours)} s")
        for step in ours:
            why = step.missing(context)
            print(f"  {step.name:10} {step.seconds:4} s  {step.title}{' [not run: ' + why + ']' if why else ''}")
            for command in [] if why else step.commands(context):
                print(f"      {' '.join(map(str, command.argv))}")


def run(steps, context, results):
    bad = 0
    for step in steps:
        print(f"== part {step.part}, {step.name}: {step.title} (at most {step.limit(context)} s)", flush=True)
        outcome = run_step(step, context, results)
        print(f"== {step.name}: {outcome['state']} in {outcome['seconds']} s {outcome['why']}", flush=True)
        bad += outcome["state"] not in ("done", "not run")
    return bad


def main(arguments, usage):
    options = parse(arguments, usage)
    place = Place(options.build)
    steps = chosen_steps(options)
    work = pathlib.Path(options.output).resolve() / "work"
    context = Context(place, work, options.cpu)
    if options.dry_run:
        dry_run(steps, context)
        return 0
    if not options.cpu and not has_gpu():
        print("gpu-check: this machine must have a GPU with its driver, got none; --cpu runs what needs none, --dry-run "
              "says what would run", file=sys.stderr)
        return 7
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # what runs is ended, too
    results = Results(options.output)
    shutil.rmtree(work / "runs", ignore_errors=True)  # of a check that was ended
    work.mkdir(parents=True, exist_ok=True)
    bad = run(steps, context, results)
    shutil.rmtree(work, ignore_errors=True)
    if options.cpu:
        print(f"\nforms without a GPU: {len(steps) - bad} of {len(steps)} steps without a failure; no claim is proved by them")
        return 1 if bad else 0
    verdicts = judge_all(results.steps)
    print("\n" + table(verdicts))
    missed = sum(verdict.state == "missed" for verdict in verdicts)
    print(f"{missed} missed, {sum(v.state == 'held' for v in verdicts)} held, {sum(v.state == 'not run' for v in verdicts)} not run")
    print(f"results: {results.folder / 'all.json'}; scripts/gpu-report writes docs/gpu-results.md from them")
    return 1 if bad or missed else 0
