"""What steps found, as JSON that is whole at every moment."""
import json
import os
import pathlib


def write_json(path, value):
    new = path.with_suffix(".new")
    new.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")
    os.replace(new, path)


class Results:
    """A folder with STEP.json for every step that ended, and all.json with all of them."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        (self.folder / "logs").mkdir(parents=True, exist_ok=True)
        self.steps = {}
        known = self.folder / "all.json"
        if known.exists():
            self.steps = json.loads(known.read_text())["steps"]

    def keep(self, outcome):
        self.steps[outcome["step"]] = outcome
        write_json(self.folder / f"{outcome['step']}.json", outcome)
        write_json(self.folder / "all.json", {"steps": self.steps})


def read_results(paths):
    """Steps of folders and files, later ones before earlier ones."""
    steps = {}
    for path in map(pathlib.Path, paths):
        file = path / "all.json" if path.is_dir() else path
        steps.update(json.loads(file.read_text())["steps"])
    return steps


def rows_of(steps, step):
    """Rows of a step's benchmarks; none where it did not run, or ran without a GPU."""
    outcome = steps.get(step)
    if not outcome or outcome.get("cpu_form"):
        return []
    return [row for command in outcome["commands"] for row in command.get("rows", [])]


def cases_of(steps, step, file):
    """Test cases of a source file."""
    outcome = steps.get(step)
    if not outcome or outcome.get("cpu_form"):
        return []
    return [case for command in outcome["commands"] for case in command.get("cases", []) if case["file"] == file]
