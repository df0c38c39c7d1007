"""Compiles every device source with CUDA 12 from PyPI, for a V100, which CUDA 13 has forgotten.

  cuda_12.py SOURCE_FOLDER NVCC CUDA_HEADERS WORK_FOLDER

PyPI has no nvcc 12. Device code is compiled by that release's NVRTC: the same front end and assembler, which know no
host code, so that all of a file is the device's and launches are made there (-default-device, -rdc); tests/toolkits/std stands
for the C++ library. The host's side is what the tests make of a .cu (docs/device-kernels.md), with the headers of CUDA 12; calls of
the runtime are linked with it.
"""
import ctypes
import pathlib
import re
import subprocess
import sys

from commands import configure
from packages import site_packages

# What LibTorch 2.7 comes with.
VERSIONS = {"cuda-runtime": "12.6.77", "cuda-nvcc": "12.6.77", "cuda-nvrtc": "12.6.77", "cuda-cccl": "12.6.77", "nvtx": "12.6.77"}
ARCHITECTURE = "sm_70"
# In CUDA 13 alone: a type for device code, a signature for the host.
PLANTED_DEVICE = "__device__ longlong4_16a planted_words;"
PLANTED_HOST = ("#include <cuda_runtime_api.h>\n"
                "cudaError_t planted(void* p) { return cudaMemPrefetchAsync(p, 1, cudaMemLocation{}, 0, nullptr); }\n")


class Nvrtc:
    """A compiler of device code in a library."""

    def __init__(self, library, options):
        self._library = ctypes.CDLL(str(library))
        self._options = [option.encode() for option in options]

    def compile(self, name, text):
        """(bytes of machine code or 0, what the compiler said)"""
        program = ctypes.c_void_p()
        self._must(self._library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), name.encode(), 0, None, None))
        options = (ctypes.c_char_p * len(self._options))(*self._options)
        status = self._library.nvrtcCompileProgram(program, len(options), options)
        size = ctypes.c_size_t()
        self._must(self._library.nvrtcGetProgramLogSize(program, ctypes.byref(size)))
        log = ctypes.create_string_buffer(size.value)
        self._must(self._library.nvrtcGetProgramLog(program, log))
        size.value = 0
        if status == 0:
            self._must(self._library.nvrtcGetCUBINSize(program, ctypes.byref(size)))
        self._must(self._library.nvrtcDestroyProgram(ctypes.byref(program)))
        return size.value, log.value.decode()

    @staticmethod
    def _must(status):
        if status != 0:
            raise RuntimeError(f"NVRTC's call must succeed, got {status}")


class Check:
    def __init__(self, source, nvcc, headers, work):
        self.source, self.headers, self.work = source, str(headers), work
        # Each source by itself, so that each has a command.
        self.configured = configure(source, work / "build", "HEADRACE_CUDA=ON", f"CMAKE_CUDA_COMPILER={nvcc}", "HEADRACE_UNITY=OFF")
        self.failed = 0
        nvidia = site_packages(work / "venv", [f"nvidia-{name}-cu12=={version}" for name, version in VERSIONS.items()]) / "nvidia"
        self.includes = [nvidia / name.replace("-", "_") / "include" for name in VERSIONS if name != "cuda-nvrtc"]
        self.runtime = nvidia / "cuda_runtime/lib/libcudart.so.12"
        std = pathlib.Path(__file__).resolve().parent / "std"
        folders = [std, work / "build/include", *self.includes]
        self.nvrtc = Nvrtc(nvidia / "cuda_nvrtc/lib/libnvrtc.so.12",
                           [f"-arch={ARCHITECTURE}", "-std=c++20", "-default-device", "-rdc=true", "-DHEADRACE_BUILD=1", "-DNDEBUG",
                            "-diag-suppress=1097", *(f"-I{folder}" for folder in folders)])

    def say(self, good, what, text=""):
        print(f"{'ok' if good else 'FAILED'}: {what}{'' if good else chr(10) + text}", flush=True)
        self.failed += not good

    def commands(self):
        """Those of the device sources, one a source: the host compiler's."""
        host = {command.source: command for command in self.configured
                if command.has_headers(self.headers) and not command.words[0].endswith("nvcc")}
        ours = sorted(path for room in self.source.iterdir() if (room / "CMakeLists.txt").exists() and room.name != "tests"
                      for path in room.rglob("*") if re.search(r"(\.cu|_cuda\.cpp|_nvtx\.cpp)$", path.name))
        missing = [str(path) for path in ours if path not in host]
        if not ours or missing:
            sys.exit(f"FAILED: every device source must have a command of the host's compiler, got none for {missing or 'any'}")
        return [host[path] for path in ours]

    def host(self, command):
        """Its object file, whatever became of it."""
        object_file = self.work / f"{command.source.name}.o"
        object_file.unlink(missing_ok=True)
        words = command.with_headers(self.headers, self.includes)
        words[words.index("-o") + 1] = str(object_file)
        made = subprocess.run(words, cwd=command.folder, capture_output=True, text=True)
        self.say(made.returncode == 0, f"{command.source.name}: host", made.stderr)
        return object_file

    def device(self, source):
        size, said = self.nvrtc.compile(str(source), source.read_text())
        self.say(size > 0, f"{source.name}: {ARCHITECTURE}, {size} bytes", said)

    def link(self, objects):
        """What calls the runtime finds all of it in that of CUDA 12."""
        made = subprocess.run(["c++", "-shared", "-Wl,-z,defs", "-o", str(self.work / "module.so"), *map(str, objects), str(self.runtime)],
                              capture_output=True, text=True)
        self.say(made.returncode == 0, "calls of the runtime", made.stderr)

    def planted(self, kernel, host):
        """What CUDA 12 has not is refused: this check can fail."""
        size, said = self.nvrtc.compile(str(kernel), kernel.read_text() + PLANTED_DEVICE)
        self.say(size == 0 and "longlong4_16a" in said, "a type of CUDA 13 is refused in device code", said)
        words = host.with_headers(self.headers, self.includes)
        words = [word for word in words[:words.index("-o")]] + ["-fsyntax-only", "-x", "c++", "-"]
        made = subprocess.run(words, input=PLANTED_HOST, cwd=host.folder, capture_output=True, text=True)
        self.say(made.returncode != 0 and "cudaMemPrefetchAsync" in made.stderr, "a call of CUDA 13 is refused", made.stderr)

    def run(self):
        commands = self.commands()
        objects = {command.source: self.host(command) for command in commands}
        kernels = [source for source in objects if source.suffix == ".cu"]
        for kernel in kernels:
            self.device(kernel)
        apis = [command for command in commands if command.source.stem.endswith("_cuda")]
        self.link([objects[command.source] for command in apis])
        self.planted(kernels[0], apis[0])
        print(f"{len(kernels)} kernels' files and {len(commands) - len(kernels)} others, {self.failed} failed")
        return 1 if self.failed else 0


if __name__ == "__main__":
    sys.exit(Check(*map(pathlib.Path, sys.argv[1:])).run())
