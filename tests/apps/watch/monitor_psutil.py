"""headrace monitor beside psutil, on a PyTorch training that knows of neither:
monitor_psutil.py HEADRACE SECONDS FOLDER writes FOLDER/system.jsonl and says as JSON how far they are apart.

The training loads its batches with two workers that end and begin again with each epoch. Both watch it from outside:
`headrace monitor --pid`, and this program with psutil ten times a second, whose figures are taken at the times of the
monitor's samples, between two of its own. Compared are the CPU time of the process and its descendants (user, system,
and of children that ended) and their resident memory.
"""
import json
import subprocess
import sys
import threading
import time
from datetime import datetime
from pathlib import Path

import psutil

INTERVAL_S = 0.5
TRAINING = """
import time
import torch
from torch.utils.data import DataLoader, Dataset

class Busy(Dataset):
    def __len__(self):
        return 300

    def __getitem__(self, index):
        until = time.process_time() + 0.01
        while time.process_time() < until:
            pass
        return torch.full((64,), float(index))

torch.set_num_threads(1)
network = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1))
optimizer = torch.optim.SGD(network.parameters(), 1e-6)
loader = DataLoader(Busy(), batch_size=20, num_workers=2)
print("trains", flush=True)
while True:
    for batch in loader:
        loss = network(batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def figures_of(process):
    """CPU seconds, resident bytes and numbers of a process and its descendants; none where one ended meanwhile."""
    cpu = resident = 0
    try:
        tree = [process, *process.children(recursive=True)]
        for one in tree:
            times = one.cpu_times()
            cpu += times.user + times.system + times.children_user + times.children_system
            if one.status() != psutil.STATUS_ZOMBIE:
                resident += one.memory_info().rss
    except psutil.NoSuchProcess:
        return None
    return cpu, resident, {one.pid for one in tree}


class Watch(threading.Thread):
    """Samples of psutil: (unix time, CPU seconds, resident bytes, numbers of processes)."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.process = psutil.Process(pid)
        self.samples = []
        self.over = False

    def run(self):
        while not self.over:
            figures = figures_of(self.process)
            if figures:
                self.samples.append((time.time(), *figures))
            time.sleep(0.1)

    def at(self, moment):
        """Figures between the samples before and behind, and whether the processes were the same and kept their memory."""
        for (t0, cpu0, rss0, pids0), (t1, cpu1, rss1, pids1) in zip(self.samples, self.samples[1:]):
            if t0 <= moment <= t1:
                share = (moment - t0) / (t1 - t0)
                return cpu0 + share * (cpu1 - cpu0), rss0 + share * (rss1 - rss0), pids0 == pids1 and abs(rss1 - rss0) < 0.01 * rss0
        return None


def main():
    headrace, seconds, folder = sys.argv[1], float(sys.argv[2]), Path(sys.argv[3])
    training = subprocess.Popen([sys.executable, "-c", TRAINING], stdout=subprocess.PIPE, text=True)
    try:
        training.stdout.readline()
        watch = Watch(training.pid)
        watch.start()
        time.sleep(0.3)
        monitor = subprocess.run(
            [headrace, "monitor", "--pid", str(training.pid), "--interval", f"{int(INTERVAL_S * 1000)}ms", "--duration",
             f"{seconds}s", "--output", str(folder / "system.jsonl"), "--plot", str(folder / "system.png")],
            capture_output=True, text=True, check=False)
        time.sleep(0.3)
        watch.over = True
        watch.join()
    finally:
        for child in psutil.Process(training.pid).children(recursive=True):
            child.kill()
        training.kill()
        training.wait()
    (folder / "report.txt").write_text(monitor.stdout)
    result = dict(status=monitor.returncode, err=monitor.stderr, samples=0, cpu=0.0, memory=0.0, cpu_s=0.0)
    rows = [json.loads(line) for line in (folder / "system.jsonl").read_text().splitlines()]
    memory = []
    for row in rows:
        beside = watch.at(datetime.fromisoformat(row["time"].replace("Z", "+00:00")).timestamp())
        if beside is None:
            continue
        cpu, resident, steady = beside
        result["samples"] += 1
        result["cpu"] = max(result["cpu"], abs(row["process_cpu_s"] / cpu - 1))
        # Workers that begin or end between two samples of psutil leave it open which of both it was; where all ended and
        # began again, the memory is the same and only their numbers tell.
        if steady:
            memory.append(abs(row["memory_resident_bytes"] / resident - 1))
    result["cpu_s"] = rows[-1]["process_cpu_s"] - rows[0]["process_cpu_s"]
    result["memory_samples"] = len(memory)
    result["memory"] = max(memory, default=1.0)
    result["processes"] = max(row["processes"] for row in rows)
    print(json.dumps(result))


main()
