"""What a test takes from PyPI, kept in a folder of the build tree: the second run is quick."""
import shutil
import subprocess
import sys


def fetched(folder, packages, fetch):
    """The folder, which `fetch(folder)` has filled for exactly these packages."""
    stamp = folder / "packages.txt"
    wanted = "\n".join(packages) + "\n"
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        fetch(folder)
        stamp.write_text(wanted)
    return folder


def pip(folder, command, *arguments):
    """That of a virtual environment in the folder: Debian's own Python may have none."""
    python = folder / "bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([python, "-m", "pip", "--quiet", "--disable-pip-version-check", command, *map(str, arguments)], check=True)


def site_packages(folder, packages):
    """The site-packages of a virtual environment with these packages and nothing that they ask for."""
    def fetch(folder):
        pip(folder, "install", "--no-deps", *packages)
    return next(fetched(folder, packages, fetch).glob("lib/python3*/site-packages"))
