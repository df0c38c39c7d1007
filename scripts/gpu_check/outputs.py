"""Figures from what programs printed or wrote."""
import csv
import html
import io
import json
import pathlib
import re


def benchmark_rows(path):
    """Rows of a benchmark's --json file; a run that was killed left those of its finished sections."""
    if not path.exists():
        return []
    return json.loads(path.read_text())["rows"]


def doctest_cases(text):
    """Cases of doctest's XML reporter. A case that says SKIPPED has checked nothing."""
    cases = []
    for line in text.splitlines():
        begun = re.search(r'<TestCase name="(.*?)" filename="(.*?)"', line)
        if begun:
            file = pathlib.PurePath(html.unescape(begun[2])).name
            cases.append({"name": html.unescape(begun[1]), "file": file, "passed": False, "skipped": ""})
        ended = re.search(r'<OverallResultsAsserts .*test_case_success="(\w+)"', line)
        if ended and cases:
            cases[-1]["passed"] = ended[1] == "true"
        skipped = re.search(r"SKIPPED: (.*)", line)
        if skipped and cases:
            cases[-1]["skipped"] = skipped[1]
    return cases


def sanitizer_findings(text):
    """Errors that compute-sanitizer counted; None where it gave no summary."""
    counts = re.findall(r"(?:ERROR|RACECHECK) SUMMARY: (\d+) (?:error|hazard)", text)
    return sum(map(int, counts)) if counts else None


def step_budgets(text):
    """Sentences of a training's step budget, one an epoch."""
    return re.findall(r"^(step [\d.]+ \S+ = data [^(\n]*?) \(", text, re.MULTILINE)


def profiler_rows(text):
    """Kernels of Nsight Compute's `--csv --page raw`: name, microseconds, share of the memory's peak."""
    start = text.find('"ID"')
    if start < 0:
        return []
    rows = []
    for line in csv.DictReader(io.StringIO(text[start:])):
        try:
            rows.append({"section": "profile", "contender": line["Kernel Name"].split("(")[0], "unit": "us",
                         "median": float(line["gpu__time_duration.sum"]),
                         "memory_percent": float(line["dram__throughput.avg.pct_of_peak_sustained_elapsed"])})
        except (KeyError, ValueError):
            continue  # the line of units
    return rows


def machine(text):
    """Facts of machine.py."""
    return {"machine": dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)}
