"""The compile commands of a build, with headers of another toolkit."""
import json
import pathlib
import shlex
import subprocess


class Command:
    def __init__(self, entry):
        self.source = pathlib.Path(entry["file"])
        self.folder = entry["directory"]
        self.words = shlex.split(entry["command"])

    def has_headers(self, folder):
        return any(folder in word for word in self.words)

    def with_headers(self, old, new):
        """The words of the command, with the folders `new` where it searches the folder `old` or one below."""
        words, given = [], False
        rest = iter(self.words)
        for word in rest:
            if word != "-isystem":
                words.append(word)
                continue
            folder = next(rest)
            if not folder.startswith(old):
                words += ["-isystem", folder]
            elif not given:
                words += [part for one in new for part in ("-isystem", str(one))]
                given = True
        return words


def without_output(words):
    """Those that only check: without `-o FILE` and `-c`."""
    at = words.index("-o")
    return [word for word in words[:at] + words[at + 2:] if word != "-c"] + ["-fsyntax-only"]


def configure(source, build, *options):
    """The commands of a release build that is configured and no more; an option is NAME=VALUE."""
    subprocess.run(["cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", *(f"-D{one}" for one in options)],
                   check=True)
    return [Command(entry) for entry in json.loads((build / "compile_commands.json").read_text())]
