"""Runs a step's commands under its time-out; a command that hangs takes nothing with it."""
import datetime
import os
import shlex
import signal
import subprocess
import time

TAIL = 4000
UNFINISHED = "unfinished"


def run_command(argv, log, seconds, cwd, environment):
    """(exit status or None where its time ended, seconds, output); the output lies in `log`, too."""
    started = time.monotonic()
    with open(log, "wb") as out:
        process = subprocess.Popen(argv, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, cwd=cwd,
                                   env={**os.environ, **environment}, start_new_session=True)
        try:
            status = process.wait(timeout=max(seconds, 0.1))
        except subprocess.TimeoutExpired:
            status = None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
    with open(log, errors="replace") as text:
        return status, time.monotonic() - started, text.read()


def run_step(step, context, results):
    """Runs a step, keeps its result after every command, and gives it."""
    outcome = {"step": step.name, "part": step.part, "title": step.title, "state": UNFINISHED, "why": "the check was ended in it", "seconds": 0.0,
               "cpu_form": context.cpu, "commit": context.place.commit(), "commands": [],
               "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds")}
    started = time.monotonic()
    missing = step.missing(context)
    if missing:
        outcome.update(state="not run", why=missing)
        results.keep(outcome)
        return outcome
    for number, command in enumerate(step.commands(context)):
        left = step.limit(context) - (time.monotonic() - started)
        if left < 1:
            outcome.update(state="timed out", why=f"its {step.limit(context)} s ended before {command.label}")
            break
        _run_one(command, number, left, (step, context, results), outcome)
        outcome["seconds"] = round(time.monotonic() - started, 1)
        results.keep(outcome)
    if outcome["state"] == UNFINISHED:
        outcome.update(state="done", why="")
    results.keep(outcome)
    return outcome


def _run_one(command, number, left, where, outcome):
    step, context, results = where
    log = results.folder / "logs" / f"{step.name}-{number}.log"
    print(f"   {command.label}: {shlex.join(command.argv)}", flush=True)
    try:
        status, seconds, text = run_command(command.argv, log, left, context.work, context.environment())
    except OSError as error:
        status, seconds, text = 127, 0.0, str(error)
    one = {"label": command.label, "argv": command.argv, "exit": status, "seconds": round(seconds, 1), "tail": text[-TAIL:]}
    one.update(command.read(text))
    outcome["commands"].append(one)
    if status is None:
        outcome.update(state="timed out", why=f"{command.label} was ended after {seconds:.0f} s")
    elif status != 0 and outcome["state"] == UNFINISHED:
        outcome.update(state="failed", why=f"{command.label} ended with {status}: {last_line(text)}")


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "it said nothing"
