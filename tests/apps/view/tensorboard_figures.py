"""What TensorBoard itself reads of a run: tensorboard_figures.py TB OUT writes OUT/figures.json

{run: {"scalars": {tag: [[step, value], ...]}, "images": {tag: [{step, width, height, shown, file}]}}}
with `shown` the sides that Pillow finds in the file, and `file` the picture's name in OUT.
"""
import json
import sys
from pathlib import Path

from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

everything = {"scalars": 0, "images": 0}


def images_of(events, run, out):
    found = {}
    for tag in events.Tags()["images"]:
        found[tag] = []
        for image in events.Images(tag):
            name = f"{run}-{tag}-{image.step}.png".replace("/", "-")
            (out / name).write_bytes(image.encoded_image_string)
            with Image.open(out / name) as picture:
                picture.load()
                shown = list(picture.size)
            found[tag].append(dict(step=image.step, width=image.width, height=image.height, shown=shown, file=name))
    return found


def figures_of(folder, out):
    events = EventAccumulator(str(folder), size_guidance=everything).Reload()
    scalars = {tag: [[e.step, e.value] for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}
    return {"scalars": scalars, "images": images_of(events, folder.name, out)}


if __name__ == "__main__":
    board, out = Path(sys.argv[1]), Path(sys.argv[2])
    runs = {folder.name: figures_of(folder, out) for folder in sorted(board.iterdir())}
    (out / "figures.json").write_text(json.dumps(runs))
