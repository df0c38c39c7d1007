"""Where programs and data lie: in a bundle, or in a checkout and its build folder."""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


class Place:
    def __init__(self, build=None):
        self.is_bundle = (HERE.parent / "lib" / "requirements").exists()
        self.root = HERE.parent if self.is_bundle else HERE.parent.parent
        self.build = pathlib.Path(build).resolve() if build else self.root / "build" / "release"
        self.data = self.root / "data" / "gpu-check"

    def program(self, name):
        """The command that starts 'headrace', 'tests/NAME' or 'benchmarks/NAME'; None where it is not there."""
        if self.is_bundle:
            if name == "headrace":
                return [str(self.root / "headrace")] if (self.root / "programs/headrace").exists() else None
            return [str(self.root / "run"), name] if (self.root / name).exists() else None
        if name == "headrace":
            found = [self.build / "apps" / "headrace"]
        else:
            folder, base = name.split("/")
            found = sorted((self.build / folder).glob(f"*/{base}"))
        found = [file for file in found if os.access(file, os.X_OK)]
        return [str(found[0])] if found else None

    def programs(self, folder, pattern):
        """Names of the programs of a folder that match."""
        where = self.root / folder if self.is_bundle else self.build / folder
        files = where.glob(pattern if self.is_bundle else f"*/{pattern}")
        return sorted(f"{folder}/{file.name}" for file in files if file.is_file() and os.access(file, os.X_OK))

    def file(self, name):
        """A file of the sources that the bundle carries, too."""
        return self.root / name

    def python(self):
        """The Python whose LibTorch the programs use."""
        own = self.root / ".venv" / "bin" / "python"
        if not self.is_bundle and own.exists():
            return str(own)
        return os.environ.get("HEADRACE_PYTHON") or sys.executable

    def commit(self):
        if self.is_bundle:
            stamp = self.root / "lib" / "commit"
            return stamp.read_text().strip() if stamp.exists() else "unknown"
        asked = subprocess.run(["git", "-C", str(self.root), "describe", "--always", "--dirty"], capture_output=True, text=True)
        return asked.stdout.strip() or "unknown"

    def sizes(self):
        """Bytes of what travels: (name, bytes)."""
        names = ["programs", "tests", "benchmarks", "lib", "data", "wheels"] if self.is_bundle else ["data/gpu-check"]
        folders = [self.root / name for name in names]
        return [(name, folder_bytes(folder)) for name, folder in zip(names, folders) if folder.exists()]


def folder_bytes(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink())


