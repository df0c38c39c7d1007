"""Photographs from Debian's wallpaper packages, as data sets: python photographs.py CACHE

Two groups of pictures. `mate` is what the decoder was tuned on; `plasma` was not looked at while
tuning. Each set is a folder of two classes; every picture is a random part of a photograph, scaled
down to its size. Made once; random numbers are seeded.
"""

import random
import subprocess
import sys
from pathlib import Path

from PIL import Image

PHOTOGRAPHS = {
    "mate": ("mate-backgrounds", "usr/share/backgrounds/mate/nature", [
        "Aqua.jpg", "Blinds.jpg", "Dune.jpg", "FreshFlower.jpg", "Garden.jpg", "GreenMeadow.jpg",
        "LadyBird.jpg", "RainDrops.jpg", "Storm.jpg", "TwoWings.jpg", "Wood.jpg", "YellowFlower.jpg"]),
    "plasma": ("plasma-workspace-wallpapers", "usr/share/wallpapers", [
        f"{name}/contents/images/2560x1600.jpg" for name in (
            "BytheWater", "ColdRipple", "ColorfulCups", "DarkestHour", "EveningGlow", "FallenLeaf",
            "Kite", "OneStandsOut", "Path", "summer_1am")]),
}

# name: group, width, height, quality, pictures
SETS = {
    "mate-500x375-q90": ("mate", 500, 375, 90, 512),
    "mate-500x375-q95": ("mate", 500, 375, 95, 512),
    "mate-2000x1500": ("mate", 2000, 1500, 90, 64),
    "plasma-500x375-q90": ("plasma", 500, 375, 90, 512),
    "plasma-2000x1500": ("plasma", 2000, 1500, 90, 64),
}


def originals(cache, group):
    """The group's photographs, unpacked from its package."""
    package, folder, names = PHOTOGRAPHS[group]
    root = cache / "packages" / package
    if not root.exists():
        part = root.with_suffix(".part")
        part.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "-qq", "download", package], cwd=part, check=True,
                       stderr=subprocess.DEVNULL)
        (archive,) = part.glob("*.deb")
        subprocess.run(["dpkg-deb", "-x", archive, part], check=True)
        archive.unlink()
        part.rename(root)
    return [root / folder / name for name in names]


def part(photograph, width, height, draw):
    """A part of the photograph with the ratio of the target, not smaller than the target."""
    largest = min(photograph.width / width, photograph.height / height)
    scale = draw.uniform(1.0, largest)
    w, h = round(width * scale), round(height * scale)
    x, y = draw.randint(0, photograph.width - w), draw.randint(0, photograph.height - h)
    return photograph.resize((width, height), Image.LANCZOS, (x, y, x + w, y + h))


def make(cache, name):
    group, width, height, quality, count = SETS[name]
    root = cache / "sets" / name
    if root.exists():
        return
    unfinished = root.with_suffix(".part")
    draw = random.Random(name)
    sources = [Image.open(path).convert("RGB") for path in originals(cache, group)]
    sources = [s for s in sources if s.width >= width and s.height >= height]
    for i in range(count):
        folder = unfinished / f"class{i % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        part(sources[i % len(sources)], width, height, draw).save(
            folder / f"{i:05d}.jpg", quality=quality, subsampling="4:2:0")
    unfinished.rename(root)


def main():
    cache = Path(sys.argv[1])
    for name in SETS:
        make(cache, name)


if __name__ == "__main__":
    main()
