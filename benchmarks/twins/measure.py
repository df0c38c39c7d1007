"""Times a training loop: samples a second, what the host waited for batches, how busy the GPU was."""

import ctypes
import os
import threading
import time

import torch


class GpuBusy:
    """Share of time with a kernel on the GPU, as NVML tells it, asked five times a second."""

    class Rates(ctypes.Structure):
        _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]

    def __init__(self):
        self.sum, self.count, self.stopping = 0.0, 0, threading.Event()
        self.nvml = ctypes.CDLL("libnvidia-ml.so.1")
        self.device = ctypes.c_void_p()
        uuid = f"GPU-{torch.cuda.get_device_properties(0).uuid}".encode()
        if self.nvml.nvmlInit_v2() or self.nvml.nvmlDeviceGetHandleByUUID(
                uuid, ctypes.byref(self.device)):
            raise OSError("NVML does not know the device")
        self.thread = threading.Thread(target=self.sample, daemon=True)
        self.thread.start()

    def sample(self):
        rates = self.Rates()
        while not self.stopping.wait(0.2):
            if not self.nvml.nvmlDeviceGetUtilizationRates(self.device, ctypes.byref(rates)):
                self.sum += rates.gpu / 100
                self.count += 1

    def stop(self):
        self.stopping.set()
        self.thread.join()
        return self.sum / self.count if self.count else None


def gpu_busy(device):
    """A sampler that runs, or None where there is nothing to ask."""
    if device.type != "cuda":
        return None
    try:
        return GpuBusy()
    except (OSError, AttributeError):
        return None


def synchronise(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


class Watch:
    """Counts steps; the first `warm` do not count, the last of `steps` ends the clock. Tell it
    what was waited for a batch, then that a step is done."""

    def __init__(self, args):
        self.args, self.device = args, torch.device(args.device)
        self.number, self.waited, self.busy, self.begun = 0, 0.0, None, None
        self.figures = None

    def step(self, waited, loss):
        """True while there is more to do. The loss is read as often as our trainer reads it."""
        self.number += 1
        if self.begun is not None:
            self.waited += waited
        if self.number % 16 == 0 or self.number == 1:
            self.loss = float(loss)
        if self.number == self.args.warm:
            synchronise(self.device)
            self.busy = gpu_busy(self.device)
            self.begun = time.perf_counter()
        if self.number < self.args.warm + self.args.steps:
            return True
        synchronise(self.device)
        seconds = time.perf_counter() - self.begun
        self.figures = {"samples_s": self.args.steps * self.args.batch / seconds,
                        "data_wait": self.waited / seconds,
                        "gpu_busy": self.busy.stop() if self.busy else None,
                        "loss": self.loss}
        return False


def measure(args, batches, step):
    """Runs `step(batch)`, which returns a loss, over the endless `batches`."""
    watch = Watch(args)
    more = True
    while more:
        asked = time.perf_counter()
        batch = next(batches)
        waited = time.perf_counter() - asked
        more = watch.step(waited, step(batch))
    return watch.figures


AHEAD = 2  # batches of each worker


def prefetch_factor(args, batch_bytes):
    """Batches ahead of each worker, or what /dev/shm has room for."""
    try:
        room = os.statvfs("/dev/shm")
        fits = room.f_bavail * room.f_frsize // max(1, batch_bytes * args.workers)
    except OSError:
        fits = AHEAD
    return max(1, min(AHEAD, fits - 1))


def warm_steps(args):
    """Those asked for, and as many as workers have read while the first step took seconds: what is
    timed is read while it is timed."""
    return args.warm + (AHEAD * args.workers if args.device == "cuda" else 0)


class Shuffled(torch.utils.data.Sampler):
    """Pass after pass without an end, so that workers wait for none."""

    def __init__(self, data):
        self.length = len(data)

    def __iter__(self):
        while True:
            yield from torch.randperm(self.length).tolist()


def loader_options(args, batch_bytes):
    """What an expert gives a DataLoader."""
    options = {"num_workers": args.workers, "pin_memory": args.device == "cuda"}
    if args.workers > 0:
        options.update(persistent_workers=True,
                       prefetch_factor=prefetch_factor(args, batch_bytes))
    return options
