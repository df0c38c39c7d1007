"""A contender as a running program: its clock, its CPU time and its memory."""

import json
import os
import signal
import subprocess
import threading
import time
from datetime import date

TICK = os.sysconf("SC_CLK_TCK")


def machine(threads):
    with open("/proc/cpuinfo") as info:
        model = next(line.split(":")[1].strip() for line in info if line.startswith("model name"))
    gib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    return f"machine: {model}, {threads} cores used, {gib:.0f} GiB, {date.today()}"


def tree(pid):
    """The process and all its descendants."""
    found = [pid]
    for parent in found:
        try:
            for task in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{task}/children") as children:
                    found += [int(child) for child in children.read().split()]
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def cpu_seconds(pid):
    """User and system time of the tree, ended children of its members included."""
    total = 0
    for each in tree(pid):
        try:
            with open(f"/proc/{each}/stat") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
            total += sum(int(fields[i]) for i in (11, 12, 13, 14))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return total / TICK


def pss_mib(pid):
    """Proportional set size of the tree."""
    kib = 0
    for each in tree(pid):
        try:
            with open(f"/proc/{each}/smaps_rollup") as rollup:
                kib += next(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
        except (FileNotFoundError, ProcessLookupError, StopIteration):
            pass
    return kib / 1024


class Failed(Exception):
    pass


class Contender:
    """One program that talks the protocol of contenders/common.py."""

    def __init__(self, command, log):
        self.log = log
        self.begun = time.monotonic()
        self.program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=open(log, "w"), text=True, start_new_session=True)

    def hear(self, timeout=600):
        """The next line that is an answer."""
        clock = threading.Timer(timeout, self.stop)
        clock.start()
        try:
            for line in self.program.stdout:
                if line.startswith("{"):
                    return json.loads(line)
        finally:
            clock.cancel()
        self.program.wait()
        with open(self.log) as log:
            lines = [line.strip() for line in log if line.strip()]
        raise Failed(lines[-1][:200] if lines else f"ended with {self.program.returncode}")

    def start(self):
        """Seconds from the program's start to its first batch; ready for rounds afterwards."""
        said = self.hear()
        if "absent" in said:
            raise Failed(said["absent"])
        self.hear()
        return said["first"] - self.begun

    def watch_memory(self):
        """As start(), and the peak of the tree's memory meanwhile."""
        peak = [0.0]
        over = threading.Event()

        def look():
            while not over.wait(0.1):
                peak[0] = max(peak[0], pss_mib(self.program.pid))

        watcher = threading.Thread(target=look)
        watcher.start()
        try:
            first = self.start()
        finally:
            over.set()
            watcher.join()
        return first, max(peak[0], pss_mib(self.program.pid))

    def round(self):
        """Images a second, and CPU seconds an image, of one epoch."""
        cpu = cpu_seconds(self.program.pid)
        self.program.stdin.write("go\n")
        self.program.stdin.flush()
        said = self.hear()
        cpu = cpu_seconds(self.program.pid) - cpu
        return said["images"] / said["seconds"], cpu / said["all_images"]

    def stop(self):
        try:
            os.killpg(self.program.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.program.wait()
