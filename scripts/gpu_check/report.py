"""Writes docs/gpu-results.md from what gpu-check measured."""
import json
import pathlib
import sys

from gpu_check.claims import is_held, judge_all, table
from gpu_check.results import read_results, write_json

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "gpu-results.md"
KEPT = ROOT / "docs" / "gpu-results.json"

UNMEASURED = """Nothing here has been measured yet: no GPU machine was available when this version was made. What runs on a GPU compiles
and links, its kernels and the order of its copies and waits are tested on the host (docs/device-kernels.md), and every claim
about hardware is open.
"""

HEAD = """# GPU results

Written by `scripts/gpu-report` from the JSON of `scripts/gpu-check`; never by hand. To measure: `scripts/gpu-check` on any machine
with a GPU, in a built checkout or an unpacked bundle (`scripts/bundle`), then `scripts/gpu-report gpu-check-results` here.

"""


def page(steps):
    measured = {name: step for name, step in steps.items() if not step.get("cpu_form")}
    parts = [HEAD, machine(measured) if measured else UNMEASURED, "\n## Claims\n\n", table(judge_all(measured)), "\n"]
    for step in sorted(measured.values(), key=lambda step: (step["part"], step["step"])):
        parts.append(details(step))
    return "".join(parts)


def machine(steps):
    lines = []
    facts = [command.get("machine", {}) for step in steps.values() for command in step["commands"] if command.get("machine")]
    for known in facts[-1:]:
        lines += [f"- {name}: {value}" for name, value in known.items()]
    ran = sorted({(step["date"][:10], step["commit"]) for step in steps.values()})
    lines += [f"- measured {date} at commit {commit}" for date, commit in ran]
    return "\n".join(lines) + "\n"


def figure(value):
    return "" if value is None else f"{value:.4g}"


def details(step):
    """A step's rows; nothing for steps that have none."""
    rows = [row for command in step["commands"] for row in command.get("rows", [])]
    head = f"\n## {step['title']}\n\n`gpu-check --step {step['step']}`: {step['state']}, {step['seconds']} s{'; ' + step['why'] if step['why'] else ''}\n"
    if not rows:
        return head
    lines = ["", "| section | contender | median | spread | unit | ratio | goal | note |", "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        if "missing" in row:
            lines.append(f"| {row['section']} | {row['contender']} | missing: {row['missing']} | | | | | |")
            continue
        held = is_held(row)
        goal = "" if held is None else f"{row.get('goal_is', 'at least')} {row['goal']:g}: {'held' if held else 'missed'}"
        spread = f"{figure(row.get('low'))}-{figure(row.get('high'))}" if "low" in row else ""
        lines.append(f"| {row['section']} | {row['contender']} | {figure(row.get('median'))} | {spread} | {row.get('unit', '')} | "
                     f"{figure(row.get('ratio'))} | {goal} | {row.get('note', '')} |")
    return head + "\n".join(lines) + "\n"


def main(arguments, usage):
    if "--help" in arguments or "-h" in arguments:
        print(usage)
        return 0
    if arguments == ["--check"]:
        kept = json.loads(KEPT.read_text())["steps"] if KEPT.exists() else {}
        if PAGE.read_text() == page(kept):
            return 0
        print(f"gpu-report: {PAGE} must be what its JSON says; run scripts/gpu-report", file=sys.stderr)
        return 1
    steps = json.loads(KEPT.read_text())["steps"] if KEPT.exists() else {}
    try:
        steps.update(read_results(arguments))
    except (OSError, ValueError, KeyError) as error:
        print(f"gpu-report: results must be folders or all.json files of gpu-check, got: {error}", file=sys.stderr)
        return 2
    if arguments:
        write_json(KEPT, {"steps": steps})
    PAGE.write_text(page(steps))
    print(f"{PAGE}: {len(steps)} steps")
    return 0
