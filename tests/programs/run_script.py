#!/usr/bin/env python3
"""Runs scripts that start the programs and look at what they do; README.md has the format."""
import argparse
import glob
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import script_helpers

SOURCE = Path(__file__).resolve().parents[2]
LONGEST = int(os.environ.get("HEADRACE_SCRIPT_SECONDS", "300"))  # of a command
PASSED_ON = re.compile(r"PATH|TMPDIR|LD_LIBRARY_PATH|CUDA_VISIBLE_DEVICES|OMP_WAIT_POLICY|\w+SAN_OPTIONS")
STEPS = ("file", "data", "python", "env", "needs", "foreach", "$")
TEXTS = [text + sign for text in ("out", "err", "in") for sign in ("", "!", "=", "~", "!~")]
EXPECTATIONS = ("exit", "exists", "absent", "empty", "unchanged", "json", *TEXTS)


class ScriptError(Exception):
    """The script itself is wrong."""


class Failed(Exception):
    """What was expected."""


class Skipped(Exception):
    """What the case needs."""


@dataclass
class Line:
    """A word, what follows it, the block below it, and what is expected of it."""
    number: int
    word: str
    text: str
    block: str = ""
    expected: list = field(default_factory=list)

    def filled(self, names):
        """The line with the names' values in their places."""
        return Line(self.number, self.word, fill(self.text, names), fill(self.block, names),
                    [line.filled(names) for line in self.expected])

    def with_common(self, always):
        """A command with what is expected of every command; an exit code of its own wins."""
        own = any(line.word == "exit" for line in self.expected)
        more = [line for line in always if not (own and line.word == "exit")] if self.word == "$" else []
        return Line(self.number, self.word, self.text, self.block, self.expected + more)


def fill(text, names):
    for name in sorted(names, key=len, reverse=True):
        text = text.replace("$" + name, str(names[name]))
    return text


def read_lines(script):
    lines = []
    for number, raw in enumerate(script.read_text().split("\n"), 1):
        if lines and (raw.startswith("    ") or (not raw and lines[-1].block)):
            lines[-1].block += raw[4:] + "\n"
        elif raw and not raw.startswith("#"):
            word, _, text = raw.partition(" ")
            lines.append(Line(number, word, text))
    for line in lines:
        line.block = line.block and line.block.rstrip("\n") + "\n"
    return lines


def read_script(script):
    """Cases as (name, steps)."""
    cases, setup, always, section = [], [], [], None
    for line in read_lines(script):
        if line.word == "setup":
            section, always = (setup := []), []
        elif line.word == "always":
            section = always = []
        elif line.word == "==":
            section = []
            cases.append((line.text, setup, section, always))
        elif section is None or line.word not in (EXPECTATIONS if section is always else STEPS + EXPECTATIONS):
            raise ScriptError(f"{script}:{line.number}: {line.word} means nothing here")
        elif line.word in STEPS or section is always:
            section.append(line)
        elif not section or section[-1].word != "$":
            raise ScriptError(f"{script}:{line.number}: {line.word} must follow a command")
        else:
            section[-1].expected.append(line)
    if not cases:
        raise ScriptError(f"{script}: must have a case")
    for name, setup, own, always in cases:
        yield from repeat(script, name, setup + [step.with_common(always) for step in own])


def repeat(script, name, steps):
    """The case, or one for each word of its line foreach."""
    loops = [step for step in steps if step.word == "foreach"]
    if not loops:
        yield name, steps
        return
    variable, *words = shlex.split(fill(loops[0].text, {"SOURCE": SOURCE}))
    found = [match for word in words for match in sorted(glob.glob(word)) or [word]]
    if len(loops) > 1 or not words or any("*" in word for word in found):
        raise ScriptError(f"{script}:{loops[0].number}: foreach must have words or files, once a case")
    for value in found:
        yield (f"{name} ({value.replace(f'{SOURCE}/', '')})",
               [step.filled({variable: value}) for step in steps if step.word != "foreach"])


def one(pattern):
    """The only file or folder of the pattern."""
    found = glob.glob(pattern) if "*" in pattern else [pattern]
    if len(found) != 1:
        raise Failed(f"{pattern} to be one, got {sorted(found)}")
    return found[0]


def equal(got, wanted):
    assert got == wanted, f"{got!r} is not {wanted!r}"


def state(path):
    """Time and bytes of a file, or of each file in a folder; None where there is nothing."""
    path = Path(path)
    if path.is_dir():
        return {inner: inner.is_dir() or state(inner) for inner in sorted(path.rglob("*"))}
    return (path.lstat().st_mtime_ns, path.read_bytes()) if path.exists() else None


def value_at(file, keys):
    value = json.loads(Path(one(file)).read_text())
    for key in keys.split("."):
        value = len(value) if key == "length" else value[int(key)] if isinstance(value, list) else value[key]
    return value


def check_text(line, sign, text, wanted):
    wanted = line.block or wanted
    if not wanted and sign != "=":
        raise ScriptError(f"line {line.number}: {line.word} must say what")
    if sign == "=":
        met = text == (line.block or wanted and wanted + "\n")
    elif sign.endswith("~"):
        met = re.search(wanted, text, re.MULTILINE)
    else:
        met = re.search(".*?".join(map(re.escape, wanted.split(" ... "))), text, re.DOTALL)
    if bool(met) == sign.startswith("!"):
        raise Failed(f"{line.word} {wanted}" + ("" if line.word.startswith(("out", "err")) else f", got\n{text}"))


class Case:
    """A run of the steps of a case, in the current folder."""

    def __init__(self, script, program):
        self.script, self.program = script, program
        self.names = {"SOURCE": SOURCE, "FOLDER": Path.cwd(), "PROGRAMS": program.parent}
        self.environment = {name: value for name, value in os.environ.items() if PASSED_ON.fullmatch(name)}
        self.environment |= {"HOME": os.getcwd(), "LC_ALL": "C.UTF-8"}
        self.values = vars(script_helpers) | {"equal": equal, "one": one}
        self.asked, self.status, self.out, self.err, self.before = "", 0, "", "", {}

    def run(self, steps):
        for step in steps:
            self.at = step
            step = step.filled(self.names | {name: value for name, value in self.values.items() if name.isupper()})
            try:
                getattr(self, "start" if step.word == "$" else step.word)(step)
                for self.at in step.expected:
                    self.expect(self.at)
            except (ScriptError, Failed, Skipped):
                raise
            except Exception as error:
                frames = traceback.extract_tb(error.__traceback__)
                numbers = [frame.lineno for frame in frames if frame.filename == str(self.script)]
                raise Failed(f"line {(numbers or [self.at.number])[-1]} to go well, got {type(error).__name__}: {error}") from error

    def file(self, step):
        script_helpers.write(step.text, step.block)

    def data(self, step):
        name, *words = shlex.split(step.text)
        self.values[name](*words)

    def python(self, step):
        self.values |= {"status": self.status, "out": self.out, "err": self.err}
        at = step.number if step.block else step.number - 1
        exec(compile("\n" * at + (step.block or step.text), str(self.script), "exec"), self.values)

    def env(self, step):
        name, _, value = step.text.partition("=")
        self.environment[name] = value

    def needs(self, step):
        path, _, reason = step.text.partition(" ")
        if not Path(path).exists():
            raise Skipped(reason or f"needs {path}")

    def start(self, step):
        name, *words = shlex.split(step.text)
        if name not in ("headrace", "headrace-train"):
            raise ScriptError(f"line {step.number}: a command must be headrace or headrace-train, got {name}")
        words = [one(word) if "*" in word and "=" not in word else word for word in words]
        self.before = {path: state(path) for line in step.expected if line.word == "unchanged" for path in line.text.split()}
        self.asked = step.text
        with subprocess.Popen([self.program.with_name(name), *words], env=self.environment, start_new_session=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            try:
                texts = process.communicate(timeout=LONGEST)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                texts = process.communicate()
                raise Failed(f"an end within {LONGEST} s") from None
            finally:
                self.out, self.err = (text.decode(errors="backslashreplace") for text in texts)
                self.status = process.returncode if process.returncode >= 0 else 128 - process.returncode
        if self.status != 0 and not any(line.word == "exit" for line in step.expected):
            raise Failed("exit 0")

    def expect(self, line):
        word, sign = re.fullmatch(r"(\w+)(\W*)", line.word).groups()
        words = line.text.split()
        if word in ("out", "err"):
            check_text(line, sign, getattr(self, word), line.text)
        elif word == "in":
            path, _, wanted = line.text.partition(" ")
            check_text(line, sign, Path(one(path)).read_text(errors="backslashreplace"), wanted)
        elif word == "json":
            file, keys, wanted = line.text.split(" ", 2)
            got = value_at(file, keys)
            if got != json.loads(wanted):
                raise Failed(f"{keys} of {file} to be {wanted}, got {json.dumps(got)}")
        else:
            holds = {"exit": lambda code: int(code) == self.status,
                     "exists": lambda path: os.path.exists(one(path)),
                     "absent": lambda path: not os.path.lexists(path) and not glob.glob(path),
                     "empty": lambda path: not any(Path(path).iterdir()),
                     "unchanged": lambda path: self.before[path] is not None and state(path) == self.before[path]}[word]
            if not words or not (any if word == "exit" else all)(map(holds, words)):
                raise Failed(f"{line.word} {line.text}")


def run_case(script, program, name, steps):
    """Whether it was "passed", "failed" or "skipped"."""
    home = Path.cwd()
    folder = tempfile.mkdtemp(prefix="headrace-script-")
    os.chdir(folder)
    case = Case(script, program)
    try:
        case.run(steps)
        return "passed"
    except Skipped as reason:
        print(f"SKIPPED: {reason}")
        return "skipped"
    except Failed as wanted:
        print(f"{script}:{case.at.number}: {name}\n  expected: {wanted}\n  $ {case.asked}\n  exit {case.status}, stdout:\n"
              f"{case.out}\n  stderr:\n{case.err}")
        return "failed"
    finally:
        os.chdir(home)
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", type=Path, required=True, help="headrace; the other programs lie beside it")
    parser.add_argument("--case", default="", help="only cases with this in their names")
    parser.add_argument("scripts", type=Path, nargs="+")
    arguments = parser.parse_args()
    sys.stdout.reconfigure(errors="backslashreplace", line_buffering=True)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for script in map(Path.resolve, arguments.scripts):
        for name, steps in read_script(script):
            if arguments.case in name:
                counts[run_case(script, arguments.program.resolve(), name, steps)] += 1
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ScriptError as error:
        sys.exit(str(error))
