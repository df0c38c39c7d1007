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
    """Cases of doctest's XML reporter, without those that were not asked for. A case that says SKIPPED has checked nothing."""
    cases = []
    for line in text.splitlines():
        begun = re.search(r'<TestCase name="(.*?)" filename="(.*?)"', line)
        if begun and ' skipped="true"' not in line:
            file = pathlib.PurePath(html.unescape(begun[2])).name
            cases.append({"name": html.unescape(begun[1]), "file": file, "passed": False, "skipped": ""})
        ended = re.search(r'<OverallResultsAsserts .*test_case_success="(\w+)"', line)
        if ended and cases:
            cases[-1]["passed"] = ended[1] == "true"
        skipped = re.search(r"SKIPPED: (.*)", line)
        if skipped and cases:
            cases[-1]["skipped"] = skipped[1]
    if cases and "</doctest>" not in text:  # what it had not written yet is lost
        cases.append({**cases[-1], "name": "cases that were to come", "passed": True,
                      "skipped": "the program ended in the midst of its cases"})
    return cases


def sanitizer_findings(text):
    """Errors that compute-sanitizer counted; None where it gave no summary."""
    counts = re.findall(r"(?:ERROR|RACECHECK) SUMMARY: (\d+) (?:error|hazard)", text)
    return sum(map(int, counts)) if counts else None


def step_budgets(runs):
    """Sentences of the step budgets of the runs in a folder, one an epoch: of their logs, since what a terminal gets depends on
    its width."""
    return [sentence for log in sorted(runs.glob("*/log.txt"))
            for sentence in re.findall(r"^\S+ info (step [\d.]+ \S+ = data [^(\n]*?) \(", log.read_text(), re.MULTILINE)]


def tensor_peak(runs):
    """The most bytes that tensors held in any phase of the runs in a folder; None where none says."""
    peaks = [value for rows in sorted(runs.glob("*/metrics.jsonl")) for line in rows.read_text().splitlines()
             for name, value in json.loads(line).items() if name.endswith("tensors_peak_bytes")]
    return max(peaks, default=None)


DURATION, MEMORY = "gpu__time_duration.sum", "dram__throughput.avg.pct_of_peak_sustained_elapsed"
MICROSECONDS = {"n": 1e-3, "u": 1.0, "m": 1e3, "s": 1e6}  # by how a unit begins: ns or nsecond, us or usecond, ...


def profiler_rows(text, kernel="a kernel"):
    """Kernels of Nsight Compute's `--csv --page raw`, whose second line are units: name, microseconds, share of the memory's peak."""
    start = text.find('"ID"')
    lines = list(csv.DictReader(io.StringIO(text[start:]))) if start >= 0 else []
    rows = []
    scale = MICROSECONDS.get((lines[0].get(DURATION) or "u")[0], 1.0) if lines else 1.0
    for line in lines[1:]:
        try:
            rows.append({"section": "profile", "contender": line["Kernel Name"].split("(")[0], "unit": "us",
                         "median": scale * number(line[DURATION]), "note": f"{number(line[MEMORY]):.1f} % of the memory's peak"})
        except (AttributeError, KeyError, TypeError, ValueError):
            continue  # what the program printed itself
    if rows:
        return rows
    said = [line.strip() for line in text.splitlines() if re.match(r"==(ERROR|WARNING)==", line)]
    return [{"section": "profile", "contender": kernel, "missing": said[0] if said else "the profiler showed no such kernel"}]


def number(text):
    """Of a table with separated thousands."""
    return float(text.replace(",", ""))


def machine(text):
    """Facts of machine.py."""
    return {"machine": dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)}
