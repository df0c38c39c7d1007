"""Every claim about a GPU, and what decides it: held, missed, or not run."""
import dataclasses
import math
import re
from typing import Callable

from gpu_check.memory_trial import NETWORKS
from gpu_check.results import cases_of, rows_of
from gpu_check.steps import CARDS, SANITIZED


@dataclasses.dataclass
class Verdict:
    claim: str
    goal: str
    state: str  # held, missed, not run
    found: str


@dataclasses.dataclass
class Claim:
    text: str
    goal: str
    judge: Callable  # steps -> (state, what was found)


def not_run(steps, *names):
    """Why nothing decides: what the steps say of themselves."""
    whys = []
    for name in names:
        outcome = steps.get(name)
        if not outcome or outcome.get("cpu_form"):
            whys.append(f"step {name} was not run")
        elif outcome["state"] != "done":
            whys.append(f"step {name}: {outcome['state']}, {outcome['why']}")
    return "not run", "; ".join(whys) or "no figure of it"


def by_cases(step, *files):
    """All GPU cases of these files passed, and there were some of each."""
    def judge(steps):
        of_files = [cases_of(steps, step, file) for file in files]
        cases = [case for of_file in of_files for case in of_file]
        ran = [case for case in cases if not case["skipped"]]
        failed = [case["name"] for case in ran if not case["passed"]]
        if failed:
            return "missed", f"{len(failed)} of {len(ran)} cases failed: {failed[0]}"
        if not all(of_files) or len(ran) < len(cases):
            skipped = [case["skipped"] for case in cases if case["skipped"]]
            return ("not run", f"{len(skipped)} of {len(cases)} cases skipped: {skipped[0]}") if skipped else not_run(steps, step)
        return "held", f"{len(ran)} cases passed"
    return judge


def distance(row):
    """How far a row's figure lies on the right side of its goal."""
    figure = row.get(row.get("goal_of", "ratio"))
    if figure is None or not math.isfinite(figure):
        return -math.inf
    return row["goal"] - figure if row.get("goal_is") == "at most" else figure - row["goal"]


def is_held(row):
    """Whether a row reached its own goal; None for rows without one."""
    return None if row.get("goal") is None else distance(row) >= 0


ENDED = (0, 7)  # exits of benchmarks that came to their end; 7: without some of their sections


def cut_short(steps, step, family):
    """Whether a program ended at once while it wrote sections of that family."""
    programs = [command for command in steps[step]["commands"] if command["exit"] not in ENDED and command.get("rows")]
    return any(re.search(family, command["rows"][-1]["section"]) for command in programs)


def by_rows(step, section, family=None, each_is_whole=False):
    """All rows with a goal whose section matches reached it, and there were some; the worst one is named. `family` are the
    sections that come with them: where one of ours is missing, or the program ended among them, nothing is held, but where
    `each_is_whole`."""
    family = section if family is None else family

    def judge(steps):
        everything = rows_of(steps, step)
        with_goal = [row for row in everything if re.search(section, row["section"]) and row.get("goal") is not None]
        rows = [row for row in with_goal if "missing" not in row]
        lost = [row["missing"] for row in everything if "missing" in row and re.search(family, row["section"])
                and (row["contender"] == "headrace" or row.get("goal") is not None)]
        if not rows:
            return ("not run", lost[0]) if lost else not_run(steps, step)
        worst = min(rows, key=distance)
        count = f"{len(rows)} figure{'s' if len(rows) > 1 else ''}"
        found = f"{count}, the worst {worst.get(worst.get('goal_of', 'ratio'))} ({worst['section']}, {worst['contender']})"
        if distance(worst) < 0:
            return "missed", found
        if lost and not each_is_whole:
            return "not run", f"{found}, but: {lost[0]}"
        if not each_is_whole and cut_short(steps, step, family):
            return "not run", f"{found}, then {not_run(steps, step)[1]}"  # there may have been more to come
        return "held", found
    return judge


def by_sanitizer(tool):
    """Every program was looked at to its end, had cases that ran, and nothing was found."""
    def judge(steps):
        outcome = steps.get("sanitizer")
        commands = [] if not outcome or outcome.get("cpu_form") else outcome["commands"]
        ours = [command for command in commands if command["label"].startswith(tool)]
        if any(command["findings"] for command in ours):
            return "missed", "; ".join(f"{command['label']}: {command['findings']} findings" for command in ours)
        for command in ours:
            if command["exit"] != 0 or command["findings"] is None:
                return "not run", f"{command['label']} ended with {command['exit']} and {'no' if command['findings'] is None else 'its'} summary"
            if all(case["skipped"] for case in command["cases"]):
                return "not run", f"{command['label']}: no case ran"
        if len(ours) < len(SANITIZED):
            return not_run(steps, "sanitizer")
        return "held", f"0 findings in {len(ours)} programs"
    return judge


def by_training(steps):
    outcome = steps.get("training")
    if not outcome or outcome.get("cpu_form") or not outcome["commands"]:
        return not_run(steps, "training")
    bad = [command for command in outcome["commands"] if command["exit"] != 0 or len(command["budgets"]) < command["epochs"]]
    if bad and bad[0]["exit"] is not None:  # whose time ended has shown nothing
        return "missed", f"{bad[0]['label']} ended with {bad[0]['exit']} and {len(bad[0]['budgets'])} step budgets"
    if outcome["state"] != "done":
        return not_run(steps, "training")
    return "held", "; ".join(f"{command['label']}: {command['budgets'][-1]}" for command in outcome["commands"])


def by_data_wait(step, most):
    """The last epoch's budget of every training of a step waits for data less than a share of its time."""
    def judge(steps):
        outcome = steps.get(step)
        if not outcome or outcome.get("cpu_form") or outcome["state"] != "done" or not outcome["commands"]:
            return not_run(steps, step)
        found, held = [], True
        for command in outcome["commands"]:
            if command["exit"] != 0 or not command["budgets"]:
                return "missed", f"{command['label']} ended with {command['exit']} and {len(command['budgets'])} step budgets"
            whole, data = re.match(r"step ([\d.]+) \S+ = data ([\d.]+)", command["budgets"][-1]).groups()
            held = held and float(data) < most * float(whole)
            found.append(f"{command['label']}: {command['budgets'][-1]}")
        return "held" if held else "missed", "; ".join(found)
    return judge


def by_peak(step, most):
    """The tensors of every training of a step held at most so many bytes."""
    def judge(steps):
        outcome = steps.get(step)
        if not outcome or outcome.get("cpu_form") or outcome["state"] != "done" or not outcome["commands"]:
            return not_run(steps, step)
        peaks = [command["peak"] for command in outcome["commands"] if command["exit"] == 0 and command.get("peak")]
        if len(peaks) < len(outcome["commands"]):
            return "missed", "a training did not end, or says nothing of its peak"
        return "held" if max(peaks) <= most else "missed", f"{max(peaks) / 1e9:.2f} GB"
    return judge


def by_mechanics(text, goal, section):
    """The same claim about both networks of the benchmark."""
    return [Claim(f"{text}: {name}", goal, by_rows("mechanics", f"^{network}.*: {section}"))
            for network, name in (("resnet50", "ResNet-50"), ("leak_cnn", "the leak job"))]


def by_networks(step, what):
    """What rows of every network say: the worst."""
    def judge(steps):
        verdicts = [by_rows(step, f"^{network} .*: ({what})$")(steps) for network in NETWORKS]
        state = next(state for state in ("missed", "not run", "held") if state in [verdict[0] for verdict in verdicts])
        return state, "; ".join(dict.fromkeys(found for _, found in verdicts))
    return judge


def by_memory(card):
    """The claims about an emulated card."""
    step, on_card = f"memory_{card}", f"on a card of {card} GiB, ResNet-18 and U-Net"
    return [
        Claim(f"peak of a run beside its plan, {on_card}", "within 5 %", by_networks(step, "peak beside the plan")),
        Claim(f"the batch of `--find-optimal`, {on_card}", "runs 50 steps, and the next size does not",
              by_networks(step, "the largest batch runs|the next size does not")),
        Claim(f"limits, {on_card}", "the plan and 10 % finish, the plan less 20 % is exit 4 before anything is read",
              by_networks(step, "the plan and 10 % are enough|the plan less 20 % is refused")),
        Claim(f"peaks over ten epochs, {on_card}", "within 1 %", by_networks(step, "peaks of its epochs")),
        Claim(f"a second stage too large, {on_card}", "exit 4 before the first stage", by_networks(step, "a second stage too large.*")),
        Claim(f"a batch of half as much again as the card, {on_card}", "micro-batches are halved, exit 0", by_networks(step, "a batch too large is halved")),
    ]


CLAIMS = [
    Claim("transferred bytes equal the host's", "all cases", by_cases("tests", "hardware_test.cpp")),
    Claim("no hidden wait in a training step", "LibTorch's synchronisation debug mode finds none but the planted one",
          by_cases("tests", "hidden_waits_gpu_test.cpp")),
    Claim("device form of `Normalize` equals its CPU twin", "every bit", by_cases("tests", "normalize_test.cpp")),
    Claim("device form of SpecAugment equals its CPU twin", "every bit", by_cases("tests", "spec_augment_test.cpp")),
    Claim("gather kernel of `DeviceTable` equals its CPU twin", "every bit", by_cases("tests", "gather_test.cpp", "device_table_test.cpp")),
    Claim("crop, resize and flip after a decode on a device equal the CPU's", "every bit",
          by_cases("tests", "resize_pictures_test.cpp")),
    Claim("patches of volumes resampled on a device equal the CPU's", "every bit", by_cases("tests", "resample_test.cpp")),
    Claim("device form of `NnUNetIntensity` equals the CPU's", "every bit", by_cases("tests", "intensity_test.cpp")),
    Claim("JPEG by nvJPEG: pixels beside the CPU's", "within 6 levels", by_cases("tests", "device_test.cpp")),
    Claim("both jobs train on a GPU, in every precision, with step budget", "exit 0, a budget an epoch", by_training),
    Claim("transfer back to back, beside a bare copy of the same bytes", ">= 0.95", by_rows("device", "^transfer .*back to back", "^transfer")),
    Claim("transfer behind a step", ">= 0.95 of the bare ring, exposed copy < 1 %", by_rows("device", "^transfer .*behind a step", "^transfer")),
    Claim("`Normalize` beside a device copy of as many bytes, 500 MB", ">= 0.80", by_rows("device", "^normalize")),
    Claim("gather beside a device copy of as many bytes, 500 MB", ">= 0.80", by_rows("device", "^gather of", "^gather|^device table")),
    Claim("SpecAugment beside a device copy of as many bytes, 500 MB", ">= 0.80", by_rows("device", "^SpecAugment")),
    Claim("two patches of 128 cubed, resampled and all of nnU-Net's intensities drawn", "at most 1.3 ms", by_rows("device", "^patches|^volume")),
    Claim("`DeviceTable` beside its gather kernel alone", ">= 0.90", by_rows("device", "^device table", "^gather|^device table")),
    Claim("ResNet-50-sized step at batch 256 behind 16 workers", "data wait < 1 %, exposed copy < 1 %", by_rows("step", "batch of 256")),
    Claim("3D U-Net step on patches of volumes behind 2 workers", "data wait < 1 %", by_data_wait("volumes", 0.01)),
    Claim("retinopathy pair at full shapes, fp16, two batches of 64 a step: peak of tensors", "at most the original's 15.29 GB",
          by_peak("retinopathy", 15.29e9)),
    Claim("retinopathy pair at full shapes behind 16 workers", "data wait < 1 %", by_data_wait("retinopathy", 0.01)),
    *(Claim(f"camouflage at full shapes, fp16, 204 and 408 steps of the stages, on a card of {card} GiB", "no lack of memory, its tensors fit",
            by_peak(f"camouflage_{card}", float(card) * 2 ** 30)) for card in CARDS),
    Claim("surface job at full shapes, bf16, 200 steps: peak of tensors", "at most 22 GB, the plain network's in fp32",
          by_peak("surface", 22e9)),
    Claim("surface job at full shapes behind 16 workers", "data wait < 1 %", by_data_wait("surface", 0.01)),
    Claim("loader on 16 threads beside bare threads, and beside 16 times one thread", ">= 0.9 both", by_rows("scaling", "")),
    Claim("JPEGs shared between device and CPU", "faster than the better of the two alone", by_rows("nvjpeg", "^shared beside")),
    Claim("leak job at batch 8192 beside the way of the job at 11 %", ">= 8 times its samples/s", by_rows("twin_leak", "beside the 11 % job", each_is_whole=True)),
    Claim("leak job at batch 8192 beside an expert's PyTorch", ">= 1", by_rows("twin_leak", "best expert", each_is_whole=True)),
    Claim("optimisers, loss scale, clipping and EMA on a GPU", "the CPU's steps within 1e-5 and its overflows; no wait",
          by_cases("tests", "mechanics_gpu_test.cpp")),
    Claim("checkpointed blocks on a GPU, with dropout", "the plain ones' results; no wait", by_cases("tests", "checkpointed_gpu_test.cpp")),
    *by_mechanics("TF32 beside fp32", ">= 1.05 times its samples/s", "TF32 beside fp32"),
    *by_mechanics("bf16 and fp16 beside fp32", ">= 1.05 times its samples/s", "half precision beside fp32"),
    *by_mechanics("channels-last beside contiguous, bf16", ">= 1", "channels-last beside contiguous"),
    *by_mechanics("steps in every precision beside PyTorch's", ">= 0.95", "beside PyTorch"),
    *by_mechanics("checkpointed blocks beside plain ones", "the same loss, at most 0.95 of the memory",
                  "checkpointed blocks beside plain ones, (difference|memory)"),
    Claim("saving 400 MB in the background", "delays no step by more than 5 % of a save's time", by_rows("checkpoint", "")),
    Claim("compute-sanitizer memcheck", "0 findings", by_sanitizer("memcheck")),
    Claim("compute-sanitizer racecheck", "0 findings", by_sanitizer("racecheck")),
    Claim("compute-sanitizer initcheck", "0 findings", by_sanitizer("initcheck")),
    Claim("`headrace monitor` beside nvidia-smi in the same seconds, under load",
          "the same name; memory 2 %, busy 10 points, temperature 2 C, power and clocks 10 %", by_rows("monitor", "^GPU")),
    Claim("malformed JPEGs on the device", "each is an error or a picture, and the process lives",
          by_cases("malformed", "device_malformed_test.cpp")),
    *(claim for card in CARDS for claim in by_memory(card)),
]


def judge_all(steps):
    return [Verdict(claim.text, claim.goal, *claim.judge(steps)) for claim in CLAIMS]


def table(verdicts):
    """As Markdown."""
    lines = ["| claim | goal | state | found |", "| --- | --- | --- | --- |"]
    lines += [f"| {v.claim} | {v.goal} | {v.state} | {v.found.replace('|', '/')} |" for v in verdicts]
    return "\n".join(lines)
