"""Prints what this machine is, a line a fact: `name: value`."""
import os
import platform
import shutil
import subprocess


def first_line(*argv):
    try:
        said = subprocess.run(argv, capture_output=True, text=True, timeout=15).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return said.splitlines()[-1 if argv[-1] == "--version" and "nvcc" in argv[0] else 0] if said else ""


def cpu_model():
    with open("/proc/cpuinfo") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def torch_facts():
    try:
        import torch
    except ImportError:
        return {"torch": "none"}
    facts = {"torch": torch.__version__}
    if torch.cuda.is_available():
        card = torch.cuda.get_device_properties(0)
        facts["multiprocessors"] = str(card.multi_processor_count)
        facts["compute capability"] = f"{card.major}.{card.minor}"
        facts["L2"] = f"{card.L2_cache_size / 2**20:.0f} MiB"
    return facts


def facts():
    yield "kernel", platform.release()
    yield "cpu", cpu_model()
    yield "cores", str(len(os.sched_getaffinity(0)))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    yield "memory", f"{memory / 2**30:.0f} GiB"
    room = os.statvfs("/dev/shm")
    yield "shared memory", f"{room.f_bavail * room.f_frsize / 2**30:.2f} GiB"
    fields = ("name", "driver_version", "memory.total", "pcie.link.gen.max", "pcie.link.width.max", "clocks.max.sm",
              "clocks.max.mem", "ecc.mode.current", "mig.mode.current")
    card = first_line("nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader")
    if card and "," in card:
        yield from zip([f"gpu {field}" if field != "name" else "gpu" for field in fields], map(str.strip, card.split(",")))
    else:
        yield "gpu", "none"
    for tool in ("nvcc", "compute-sanitizer", "ncu"):
        path = shutil.which(tool) or shutil.which(tool, path="/usr/local/cuda/bin:/opt/cuda/bin")
        yield tool, first_line(path, "--version") if path else "none"
    yield "python", platform.python_version()
    for name in ("torchvision", "lightning", "h5py", "nvidia-nvjpeg", "nvidia-dali-cuda130"):
        yield name, package_version(name)
    yield from torch_facts().items()


def package_version(name):
    from importlib import metadata
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "none"


if __name__ == "__main__":
    for name, value in facts():
        print(f"{name}: {value}", flush=True)  # a first import of torch may outlast the step
