#!/usr/bin/env python3
"""Which names do our shared libraries export? All must be of headrace::v1, declared in an installed
header; a name of `detail` only where a public header declares it for its templates, or one of ours
that is not installed for our other libraries.

usage: symbols.py INCLUDE_FOLDER[:HEADER...] LIBRARY...   prints each breach; exit status 1 if there is one
"""
import pathlib
import re
import subprocess
import sys

WHAT = re.compile(r"^(typeinfo for|typeinfo name for|vtable for|VTT for|non-virtual thunk to|virtual thunk to) ")


def words_of(folder, *headers):
    """Every word of every header, comments left out; and the classes that are only declared there."""
    words, opaque = set(), set()
    for header in [*pathlib.Path(folder).rglob("*.h"), *map(pathlib.Path, headers)]:
        text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", header.read_text(encoding="utf-8"), flags=re.S)
        words.update(re.findall(r"~?\w+", text))
        opaque.update(re.findall(r"^  (?:struct|class) (\w+);", text, re.M))
    return words, opaque


def exported(library):
    out = subprocess.run(
        ["nm", "-D", "--defined-only", "--demangle", library], check=True, capture_output=True, text=True
    ).stdout
    for line in out.splitlines():
        place, kind, name = line.split(" ", 2)
        yield kind, name.removesuffix("@@Base")


def qualified(name):
    """headrace::v1::Shape::extent from "headrace::v1::Shape::extent(long) const": no arguments."""
    depth, plain = 0, ""
    for c in re.sub(r"\boperator(\(\)|<=>|<<|>>|<=|>=|<|>|->)", "operator", name):
        if c in "(" and depth == 0:
            break
        depth += (c == "<") - (c == ">")
        if depth == 0 and c != ">":
            plain += c
    return re.sub(r"\[abi:\w+\]", "", plain).strip()


def breach(name, words, opaque):
    plain = qualified(WHAT.sub("", name))
    if not plain.startswith("headrace::v1::"):
        return "no name of headrace::v1"
    parts = plain.split("::")[2:]
    if "(anonymous namespace)" in plain:
        return "local to a file"
    # A private class inside a public one has the public one's visibility; nobody can name its members.
    for i, part in enumerate(parts):
        if i > 0 and part in opaque:
            parts = parts[: i + 1]
            break
    missing = [part for part in parts if part.split(" ")[0] not in words and not part.startswith("operator")]
    if missing:
        return f"'{missing[0]}' is in no public header"
    return None


def main():
    words, opaque = words_of(*sys.argv[1].split(":"))
    breaches, homes = 0, {}
    for library in sys.argv[2:]:
        names = sorted({name for _, name in exported(library)})
        found = [(name, why) for name in names if (why := breach(name, words, opaque))]
        for name, why in found:
            print(f"{pathlib.Path(library).name}: {name}: {why}")
        if not names:
            print(f"{library}: exports nothing")
        breaches += len(found) + (not names)
        print(f"{pathlib.Path(library).name}: {len(names)} names, {len(found)} that must not be there")
        for kind, name in exported(library):
            if kind == "T":
                homes.setdefault(name, set()).add(pathlib.Path(library).name)
    for name, libraries in sorted(homes.items()):
        if len(libraries) > 1:
            print(f"{name}: in {', '.join(sorted(libraries))}; name its folder in cmake/HeadraceComponents.cmake")
            breaches += 1
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
