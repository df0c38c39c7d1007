"""Configures a build with LibTorch 2.7, the last that knows a V100, and checks every LibTorch source against its headers.

  libtorch_2_7.py SOURCE_FOLDER WORK_FOLDER

Of the wheel only the headers are kept; its libraries are empty files, and nothing is linked.
"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import zipfile

from commands import configure, without_output
from packages import fetched, pip

WHEEL = "torch==2.7.1"
SERIES = '"2.7"'


def torch(folder):
    """The folder torch of the wheel."""
    def fetch(folder):
        pip(folder / "venv", "download", "--no-deps", "--dest", folder, WHEEL)
        wheel = next(folder.glob("torch-*.whl"))
        with zipfile.ZipFile(wheel) as packed:
            names = packed.namelist()
            packed.extractall(folder, [name for name in names if name.startswith("torch/include/")])
        (folder / "torch/lib").mkdir()
        for name in names:
            if name.startswith("torch/lib/lib") and name.endswith(".so"):
                (folder / name).touch()
        wheel.unlink()
    return fetched(folder, [WHEEL], fetch) / "torch"


def check(command):
    """What the compiler said against a source; nothing: it compiles."""
    made = subprocess.run(without_output(command.words), cwd=command.folder, capture_output=True, text=True)
    return "" if made.returncode == 0 else f"FAILED: {command.source}\n{made.stderr}"


def main(source, work):
    headers, build = torch(work / "wheel"), work / "build"
    configured = configure(source, build, "HEADRACE_WERROR=ON", f"HEADRACE_TORCH_DIR={headers}")
    config = next(build.rglob("headrace-config.cmake"))
    if SERIES not in config.read_text():
        sys.exit(f"FAILED: {config} must name the LibTorch series {SERIES}")
    commands = {command.source: command for command in configured if command.has_headers(str(headers))}
    precompiled = commands.pop(next(path for path in commands if path.name == "cmake_pch.hxx.cxx"))
    subprocess.run(precompiled.words, cwd=precompiled.folder, check=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = [said for said in pool.map(check, commands.values()) if said]
    print("\n".join(failed))
    print(f"{len(commands)} files with the headers of {WHEEL}, folders of sources together, {len(failed)} failed")
    return 1 if failed or not commands else 0


if __name__ == "__main__":
    sys.exit(main(*(pathlib.Path(word).resolve() for word in sys.argv[1:])))
