"""The steps, in order of worth; parts of at most five minutes."""
import dataclasses
import os
import pathlib
import shlex
import shutil
import zipfile
from typing import Callable

from gpu_check import outputs
from gpu_check.memory_trial import NETWORKS

PART_SECONDS = 300
STEPS_IN_PYTORCH = "benchmarks/twins/steps.py"


@dataclasses.dataclass
class Command:
    label: str
    argv: list
    read: Callable = lambda text: {}


@dataclasses.dataclass
class Context:
    place: object
    work: pathlib.Path  # a folder for what the commands write
    cpu: bool = False

    def environment(self):
        """This Python's LibTorch, and nvJPEG of the wheel that the bundle brings."""
        environment = {"HEADRACE_PYTHON": self.place.python()}
        wheels = sorted((self.place.root / "wheels").glob("nvidia_nvjpeg-*.whl"))
        if not wheels:
            return environment
        site = self.work / "site"
        if not site.exists():
            unfinished = self.work / "site.part"
            with zipfile.ZipFile(wheels[-1]) as wheel:
                wheel.extractall(unfinished)
            unfinished.rename(site)
        folders = sorted({str(file.parent) for file in site.rglob("libnvjpeg.so*")})
        before = [os.environ["LD_LIBRARY_PATH"]] if os.environ.get("LD_LIBRARY_PATH") else []
        return {**environment, "LD_LIBRARY_PATH": ":".join(folders + before)}

    @property
    def workers(self):
        return len(os.sched_getaffinity(0)) if self.cpu else 16

    def option(self, on_gpu, on_cpu):
        return on_cpu if self.cpu else on_gpu


@dataclasses.dataclass
class Step:
    name: str
    part: int
    seconds: int
    title: str
    commands: Callable
    programs: tuple = ()
    tools: tuple = ()
    files: tuple = ()  # of the place

    def limit(self, context):
        """Seconds it may take: of a borrowed GPU, or of a processor that may be slow and busy."""
        return self.seconds * (4 if context.cpu else 1)

    def missing(self, context):
        """Why it cannot run here; empty: it can."""
        for name in self.programs:
            if context.place.program(name) is None:
                return f"{name} is not in {'the bundle' if context.place.is_bundle else context.place.build}"
        for tool in () if context.cpu else self.tools:
            if find_tool(tool) is None:
                return f"{tool} is not on this machine"
        for name in self.files:
            if not context.place.file(name).exists():
                return f"{name} is not there{'' if context.place.is_bundle else ': ' + HOW_TO_GET.get(name, '')}"
        return ""


HOW_TO_GET = {f"data/gpu-check/{name}": "scripts/gpu-data makes it" for name in ("leak/testing.h5", "surface/dataset.json", "retinopathy/recipe.txt",
                                                                                   "camouflage/recipe.txt")}


def find_tool(name):
    """On PATH, or where the CUDA toolkit and Nsight put it."""
    return shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin:/opt/cuda/bin")


def benchmark(context, label, name, *arguments):
    """A benchmark that writes its rows as each of its sections ends."""
    file = context.work / f"{label.replace(' ', '-')}.json"
    file.unlink(missing_ok=True)
    argv = context.place.program(f"benchmarks/{name}") + [str(word) for word in arguments] + ["--json", str(file)]
    return Command(label, argv, lambda text: {"rows": outputs.benchmark_rows(file)})


def versions(context):
    facts = pathlib.Path(__file__).with_name("machine.py")
    return [Command("machine", [context.place.python(), str(facts)], outputs.machine)]


def gpu_tests(context):
    """The cases that need a GPU, of every test program that has some."""
    return [Command(name.split("/")[1], context.place.program(name) + ["--test-suite=gpu", "--reporters=xml"],
                    lambda text: {"cases": outputs.doctest_cases(text)})
            for name in context.place.programs("tests", "headrace_*_tests")]


def trainings(context):
    """Both jobs, two epochs, in every precision that they have."""
    data = context.place.data
    glaucoma = [("data.file", data / "glaucoma-28.h5"), ("training.batch", 32)]
    leak = [("training.batch", 256)] + [(f"data.{split}", data / "leak" / f"{split}.h5") for split in ("training", "validation", "testing")]
    return [training(context, f"{job} {precision}", f"{job}/demo.yaml", settings + [("training.precision", precision)])
            for job, settings in (("glaucoma", glaucoma), ("leak", leak)) for precision in ("fp32", "bf16")]


def training(context, label, config, settings):
    runs = context.work / "runs" / label.replace(" ", "-")
    epochs = context.option(2, 1)
    settings = settings + [("runs", runs), ("device", context.option("cuda", "cpu")), ("training.epochs", epochs)]
    argv = context.place.program("headrace") + ["train", str(context.place.file(f"configs/{config}"))]
    for key, value in settings:
        argv += ["--set", f"{key}={value}"]
    return Command(label, argv, lambda text: {"budgets": outputs.step_budgets(runs), "epochs": epochs, "peak": outputs.tensor_peak(runs)})


def volumes(context):
    """A 3D U-Net on patches of volumes that two workers feed."""
    small = [("volume.patch", "[16, 16, 16]"), ("volume.patches", 2), ("model.width", 0.125), ("training.precision", "fp32")]
    return [training(context, "volumes", "segmentation/volumes.yaml",
                     [("data.train.folder", context.place.data / "surface"), ("volume.store", context.work / "prepared"),
                      ("data.split.validation", 0.5), ("threads.loader", 2), *context.option([], small)])]


def retinopathy(context):
    """The first pair at the original's shapes for 200 steps: two batches of 64 pictures each, half precision."""
    folders = [(f"data.{part}.folder", context.place.data / "retinopathy" / name)
               for part, name in (("train", "train"), ("validation", "val"), ("test", "test"))]
    small = [("image.size", 32), ("training.batch", 4), ("training.evaluation_batch", 8), ("model.width", 0.125),
             ("training.precision", "fp32")]
    return [training(context, "retinopathy", "retinopathy/full.yaml",
                     folders + [("model.weights", "''"), ("training.member", 0), ("data.epoch_size", context.option(12800, 32)),
                                *context.option([], small)])]


def camouflage(card):
    """Both stages at the original's shapes, 204 and 408 steps, on an emulated card; the backbone joins by thirds."""
    def commands(context):
        on_gpu, on_cpu, _ = CARDS[card]
        data = [(f"data.{part}.{key}", context.place.data / "camouflage" / folder / inside)
                for part, folder in (("train", "Train"), ("validation", "Val"), ("test", "Test"))
                for key, inside in (("folder", "Imgs"), ("masks", "GT_Object"))]
        stages = ("[{name: decoder, epochs: 3, batch: 2, frozen: [backbone.]}, "
                  "{name: whole, epochs: 3, batch: 1, keep_moments: true, "
                  "groups: [{pattern: backbone., rate_factor: 0.1}], "
                  "frozen: [backbone.stem., backbone.stages.0., backbone.stages.1., backbone.stages.2.], "
                  "unfreeze: [{at: 1, patterns: [backbone.stages.2.]}, "
                  "{at: 2, patterns: [backbone.stem., backbone.stages.0., backbone.stages.1.]}]}]")
        small = [("image.size", 64), ("model.width", 0.1), ("training.precision", "fp32")]
        limit = [("memory.gpu", on_gpu)] if not context.cpu else [("memory.limit", on_cpu)]
        return [training(context, f"camouflage {card}", "camouflage/full.yaml",
                         data + limit + [("data.split.validation", 0), ("model.weights", "''"), ("model.allow_random_frozen", "true"),
                                         ("data.epoch_size", context.option(544, 16)), ("training.stages", stages),
                                         *context.option([], small)])]
    return commands


def surface(context):
    """The surface job at the original's shapes, 200 steps of two patches, every term of its loss."""
    terms = ("[{bce: {positive: 2.8}, factor: 0.35}, {dice: {smooth: 1}, factor: 0.35}, {cldice: {}, factor: 0.1}, "
             "{skeleton: {}, factor: 0.08}, {surface_distance: {}, factor: 0.07}, "
             "{bce: {positive: 2.8}, factor: 0.525, on: deep, shares: equal}, "
             "{dice: {smooth: 1}, factor: 0.525, on: deep, shares: equal}, {topology: {side: 32, every: 20}, factor: 0.001}]")
    small = [("volume.patch", "[16, 32, 32]"), ("model.base", 4), ("model.blocks", 1), ("training.precision", "fp32")]
    return [training(context, "surface", "surface/full.yaml",
                     [("data.train.folder", context.place.data / "surface"), ("volume.store", context.work / "prepared-surface"),
                      ("volume.cache", "256MiB"), ("data.split", "{validation: 0.5, test: 0}"), ("data.epoch_size", context.option(200, 4)),
                      ("loss", terms), *context.option([], small)])]


def device(context):
    return [benchmark(context, "device", "device_benchmark",
                      *context.option((), ("--dry", "--sizes", 1, "--repeats", 1)))]


def steps_of_training(context):
    return [benchmark(context, f"step {batch}", "step_benchmark", "--threads", context.workers, "--batch", batch,
                      *context.option(("--device", "cuda", "--steps", 50, "--warm", 10),
                                      ("--steps", 4, "--warm", 1, "--repeats", 1, "--load", 0.5)))
            for batch in context.option((256, 64), (8,))]


def scaling(context):
    return [benchmark(context, "scaling", "loader_benchmark", "scaling",
                      *context.option(("--threads", "1,2,4,8,16", "--repeats", 3, "--files", 1024), ("--threads", "1,2", "--repeats", 1)))]


SANITIZED = ("headrace_kernels_gpu_tests", "headrace_transfer_device_tests")
# What takes gigabytes takes minutes under such a tool, and twins wait for a race that its pace may take away.
SANITIZED_CASES = ["--test-suite=gpu", "--test-case-exclude=*beyond 2^31*,*hundred thousand*,Twin:*", "--reporters=xml"]
# An event that is not reached yet is no finding: the engine asks, and looks at every answer.
TOOLS = {"memcheck": ["--report-api-errors", "no"], "racecheck": [], "initcheck": []}


def under(context, tool, program):
    """A program under a tool of CUDA's, which is given the bundle's launcher by its interpreter."""
    return tool + (["/bin/sh"] if context.place.is_bundle else []) + program


def sanitizer(context):
    commands = []
    for tool, options in TOOLS.items():
        # Not every process of a launcher uses CUDA.
        around = [] if context.cpu else [find_tool("compute-sanitizer"), "--tool", tool, "--target-processes", "all",
                                         "--launch-timeout", "60", "--require-cuda-init", "no", "--error-exitcode", "99", *options]
        for name in SANITIZED:
            commands.append(Command(f"{tool} {name}", under(context, around, context.place.program(f"tests/{name}")) + SANITIZED_CASES,
                                    lambda text: {"findings": outputs.sanitizer_findings(text), "cases": outputs.doctest_cases(text)}))
    return commands


def nvjpeg(context):
    return [benchmark(context, "nvjpeg", "gpu_decode_benchmark", "--threads", context.workers,
                      *context.option((), ("--dry", "--pictures", 64, "--repeats", 1)))]


TRAINED = {"resnet50": ("10", "3"), "leak_cnn": ("20", "5")}  # steps of a rate, of about 30 to 100 and 10 ms; rounds


def mechanics(context):
    twin = ("--python", context.place.python(), "--script", context.place.file(STEPS_IN_PYTORCH))
    return [benchmark(context, f"mechanics {network}", "mechanics_benchmark", "--network", network, *twin,
                      *context.option(("--steps", steps, "--repeats", rounds), ("--dry",)))
            for network, (steps, rounds) in TRAINED.items()]


def checkpoint(context):
    return [benchmark(context, "checkpoint", "checkpoint_benchmark", "--folder", context.work / "checkpoints",
                      *context.option(("--device", "cuda", "--batch", 8192), ("--width", 200, "--steps", 12, "--every", 5, "--repeats", 1)))]


OURS = {"leak": "benchmarks/leak_step_benchmark", "jpeg": "benchmarks/step_benchmark"}


STEPS_OF_TWINS = {"leak": "200", "jpeg": "40"}  # of about 5 and 100 ms


def twin(name):
    def commands(context):
        file = context.work / f"twin-{name}.json"
        file.unlink(missing_ok=True)
        argv = [context.place.python(), str(context.place.file("benchmarks/twins/run")), name, "--json", str(file),
                "--headrace", shlex.join(context.place.program(OURS[name])), "--workers", str(context.workers)]
        argv += context.option(["--device", "cuda", "--steps", STEPS_OF_TWINS[name], "--warm", "10", "--rounds", "2", "--timeout", "60"],
                               ["--device", "cpu", "--steps", "1", "--warm", "1", "--rounds", "1", "--batch", "8"])
        return [Command(f"twins {name}", argv, lambda text: {"rows": outputs.benchmark_rows(file)})]
    return commands


# Sections of the device benchmark, and what their kernels' names contain.
PROFILED = {"normalize": "normalize", "spec": "mask", "gather": "gather"}


def profile(context):
    target = context.place.program("benchmarks/device_benchmark")
    if context.cpu:
        return [Command("profile", target + ["--dry", "--sizes", "1", "--repeats", "1"])]
    commands = []
    for section, kernel in PROFILED.items():
        around = [find_tool("ncu"), "--csv", "--page", "raw", "--target-processes", "all", "--clock-control", "none",
                  "--kernel-name", f"regex:.*{kernel}.*", "--launch-skip", "2", "--launch-count", "3",
                  "--metrics", f"{outputs.DURATION},{outputs.MEMORY}"]
        commands.append(Command(f"profile {section}", under(context, around, target) + ["--only", section, "--sizes", "500", "--repeats", "1"],
                                lambda text, kernel=kernel: {"rows": outputs.profiler_rows(text, kernel)}))
    return commands


def malformed(context):
    return [Command("malformed JPEGs", context.place.program("tests/headrace_nvjpeg_device_tests") +
                    ["--test-suite=gpu malformed", "--reporters=xml"], lambda text: {"cases": outputs.doctest_cases(text)})]


# Of emulated cards: their memory, what a machine without a GPU has in its place, and of which networks.
CARDS = {"8": ("8GiB", "1GiB", ("resnet18",)), "14.7": ("14.7GiB", "1.5GiB", ("unet",)), "16": ("16GiB", "2GiB", ("resnet18",))}
RECORDS = (1024, 64)  # pictures there: more than twice what fits the largest card


def memory(card):
    def commands(context):
        on_gpu, on_cpu, networks_on_cpu = CARDS[card]
        trial = pathlib.Path(__file__).with_name("memory_trial.py")
        found = []
        for network in context.option(tuple(NETWORKS), networks_on_cpu):
            file = context.work / f"memory-{card}-{network}.json"
            file.unlink(missing_ok=True)
            argv = [context.place.python(), "-B", str(trial), "--headrace", shlex.join(context.place.program("headrace")),
                    "--configs", str(context.place.file("configs")), "--network", network, "--json", str(file),
                    "--card", context.option(on_gpu, on_cpu), "--records", str(context.option(*RECORDS)),
                    "--work", str(context.work / f"memory-{card}-{network}"), *context.option([], ["--cpu"])]
            found.append(Command(f"memory {card} {network}", argv, lambda text, file=file: {"rows": outputs.benchmark_rows(file)}))
        return found
    return commands


def monitored(context):
    """What the program's monitor says of the GPU beside nvidia-smi, in the same seconds."""
    trial, file = pathlib.Path(__file__).with_name("monitor_trial.py"), context.work / "monitor.json"
    file.unlink(missing_ok=True)
    argv = [context.place.python(), "-B", str(trial), "--headrace", shlex.join(context.place.program("headrace")),
            "--json", str(file), "--work", str(context.work / "monitor"),
            *(["--cpu", "--seconds", "2"] if context.cpu else ["--nvidia-smi", find_tool("nvidia-smi")])]
    return [Command("monitor", argv, lambda text: {"rows": outputs.benchmark_rows(file)})]


STEPS = [
    Step("versions", 1, 30, "machine, driver, versions", versions),
    Step("tests", 1, 130, "test cases that need a GPU", gpu_tests),
    Step("training", 1, 140, "both jobs, two epochs, every precision", trainings, ("headrace",),
         files=("data/gpu-check/leak/testing.h5",)),
    Step("device", 2, 150, "copies, transfer, kernels, device table", device, ("benchmarks/device_benchmark",)),
    Step("step", 2, 150, "a ResNet-50-sized step behind 16 workers", steps_of_training, ("benchmarks/step_benchmark",)),
    Step("scaling", 3, 140, "the loader on 1 to 16 threads", scaling, ("benchmarks/loader_benchmark",)),
    Step("sanitizer", 3, 160, "memcheck, racecheck, initcheck", sanitizer, tuple(f"tests/{name}" for name in SANITIZED),
         ("compute-sanitizer",)),
    Step("nvjpeg", 4, 100, "JPEG on the device, shared, and on the CPU", nvjpeg, ("benchmarks/gpu_decode_benchmark",)),
    Step("twin_leak", 4, 200, "the leak job against its Python twins", twin("leak"),
         (OURS["leak"],), files=("benchmarks/twins/run",)),
    Step("twin_jpeg", 5, 150, "JPEG folders against their Python twins", twin("jpeg"),
         (OURS["jpeg"],), files=("benchmarks/twins/run",)),
    Step("profile", 5, 100, "Nsight Compute on three kernels", profile, ("benchmarks/device_benchmark",), ("ncu",)),
    Step("monitor", 5, 50, "the monitor's figures of the GPU beside nvidia-smi's", monitored, ("headrace",), ("nvidia-smi",)),
    *(Step(f"memory_{card}", part, 290, f"plans and limits of memory on a card of {card} GiB", memory(card), ("headrace",))
      for part, card in enumerate(CARDS, 6)),
    Step("mechanics", 9, 170, "training steps by precision, layout, cuDNN's trials, checkpointed blocks", mechanics,
         ("benchmarks/mechanics_benchmark",), files=(STEPS_IN_PYTORCH,)),
    Step("checkpoint", 9, 80, "what saving costs the steps of a training", checkpoint, ("benchmarks/checkpoint_benchmark",)),
    Step("malformed", 9, 50, "malformed JPEGs, last", malformed, ("tests/headrace_nvjpeg_device_tests",)),
    Step("volumes", 10, 120, "a 3D U-Net behind two workers", volumes, ("headrace",),
         files=("data/gpu-check/surface/dataset.json",)),
    Step("retinopathy", 10, 170, "a pair of the retinopathy job at full shapes", retinopathy, ("headrace",),
         files=("data/gpu-check/retinopathy/recipe.txt",)),
    *(Step(f"camouflage_{card}", part, 200, f"both stages of the camouflage job at full shapes on a card of {card} GiB", camouflage(card),
           ("headrace",), files=("data/gpu-check/camouflage/recipe.txt",))
      for part, card in enumerate(CARDS, 11)),
    Step("surface", 14, 280, "the surface job at full shapes, 200 steps", surface, ("headrace",),
         files=("data/gpu-check/surface/dataset.json",)),
]
