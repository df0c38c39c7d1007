"""The figures of benchmarks in the format of harness/report.h."""

import ctypes
import datetime
import json
import os
import platform


def gpu_name():
    """Of the first GPU that NVML shows, or None."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        device, name = ctypes.c_void_p(), ctypes.create_string_buffer(96)
        if (nvml.nvmlInit_v2() or nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device))
                or nvml.nvmlDeviceGetName(device, name, 96)):
            return None
        return name.value.decode()
    except (OSError, AttributeError):
        return None


def machine():
    model = platform.processor() or "unknown CPU"
    try:
        with open("/proc/cpuinfo") as lines:
            model = next(line.split(": ", 1)[1].strip() for line in lines
                         if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    cores = len(os.sched_getaffinity(0))
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    line = f"machine: {model}, {cores} usable cores, Python {platform.python_version()}, {date}"
    return {"line": line, "cpu": model, "cores": cores, "gpu": gpu_name(), "date": date}


def median(values):
    values = sorted(values)
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


def figure(section, contender, unit, values):
    return {"section": section, "contender": contender, "unit": unit, "median": median(values),
            "low": min(values), "high": max(values), "repeats": len(values), "note": ""}


def missing(section, contender, why):
    return {"section": section, "contender": contender, "missing": why}


def beside(row, reference, goal=None):
    """Gives a row its ratio to another, and what that should be at least."""
    row.update(reference=reference["contender"], ratio=row["median"] / reference["median"])
    if goal is not None:
        row.update(goal=goal, goal_of="ratio", goal_is="at least", held=row["ratio"] >= goal)
    return row


def below(row, share):
    """Gives a row the most that its share of time should be."""
    row.update(goal=share, goal_of="median", goal_is="at most", held=row["median"] <= share)
    return row


def write(file, benchmark, rows, dry):
    """Keeps the rows; the file is whole at any time. A dry run judges nothing."""
    if dry:
        for row in rows:
            for key in ("goal", "goal_of", "goal_is", "held"):
                row.pop(key, None)
    if not file:
        return
    with open(file + ".part", "w") as out:
        json.dump({"benchmark": benchmark, "dry": dry, "machine": machine(), "rows": rows}, out,
                  indent=1)
        out.write("\n")
    os.replace(file + ".part", file)


def show(rows):
    section = None
    for row in rows:
        if row["section"] != section:
            section = row["section"]
            print(f"\n{section}")
        if "missing" in row:
            print(f"  {row['contender']:46} missing: {row['missing']}")
            continue
        spread = f"{row['low']:.4g} - {row['high']:.4g}"
        ratio = f"{row['ratio']:.3g}" if "ratio" in row else ""
        goal = ""
        if "goal" in row:
            goal = f"goal {row['goal_is']} {row['goal']:g}: {'held' if row['held'] else 'missed'}"
        print(f"  {row['contender']:46} {row['median']:12.4g} {row['unit']:10} {spread:>22} "
              f"{ratio:>8}  {goal}")
