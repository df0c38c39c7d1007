"""scripts/photographs on stamps and backgrounds that are made here; needs Pillow. With HEADRACE_PROGRAM what it makes is
trained on, from `new` to `export`."""
import contextlib
import csv
import importlib.util
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/photographs"
PROGRAM = os.environ.get("HEADRACE_PROGRAM")
SMALL = ["model.width=0.125", "image.size=64", "training.epochs=2", "training.batch=4", "threads.torch=1", "device=cpu"]

if importlib.util.find_spec("PIL") is None:
    print("SKIPPED: needs Pillow, which scripts/setup installs into .venv")
    sys.exit(0)

from PIL import Image, ImageDraw  # noqa: E402


def make_originals(folder):
    """Shapes on nothing, four of each class, and noise of one colour."""
    draw = random.Random(1)
    for name in ("disc", "ring", "star"):
        (folder / "stamps" / name).mkdir(parents=True)
        for number in range(4):
            stamp = Image.new("RGBA", (90, 60 + 10 * number))
            inside = (10, 10, 80, 50)
            if name == "star":
                ImageDraw.Draw(stamp).polygon([(45, 5), (85, 55), (5, 55)], fill=(200, 60 * number, 0, 255))
            else:
                ImageDraw.Draw(stamp).ellipse(inside, outline=(0, 60 * number, 200, 255), width=6,
                                              fill=(0, 60 * number, 200, 255) if name == "disc" else None)
            stamp.save(folder / "stamps" / name / f"{name}{number}.png")
    (folder / "backgrounds").mkdir()
    for number in range(5):
        pixels = bytes(draw.randrange(60 * number // 2 + 1) for _ in range(3 * 40 * 30))
        Image.frombytes("RGB", (40, 30), pixels).resize((400, 300)).save(folder / "backgrounds" / f"b{number}.jpg")


def run(*words, cwd=None):
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"{words}: {done.returncode}: {done.stderr}")
    return done


@contextlib.contextmanager
def trained(kind, data):
    """A folder and in it the run of what `new` proposes for the data, smaller."""
    if not PROGRAM:
        raise unittest.SkipTest("the program is not built with LibTorch")
    with tempfile.TemporaryDirectory() as work:
        run(PROGRAM, "new", kind, "--data", data, "--output", "job.yaml", cwd=work)
        run(PROGRAM, "train", "job.yaml", *(f"--set={setting}" for setting in SMALL), cwd=work)
        (found,) = pathlib.Path(work, "runs").glob(kind + "-*")
        yield pathlib.Path(work), found


class Photographs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.kept.name)
        make_originals(cls.folder)
        cls.made = cls.make("made")
        cls.masks = cls.make("masks", "--masks")

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    @classmethod
    def make(cls, name, *more):
        run(sys.executable, "-B", SCRIPT, cls.folder / name, "--count", "60", "--stamps", cls.folder / "stamps",
            "--backgrounds", cls.folder / "backgrounds", *more)
        return cls.folder / name

    def rows(self, folder):
        with open(folder / "photographs.csv", newline="") as file:
            return list(csv.DictReader(file))

    def contents(self, folder):
        return {file.relative_to(folder): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}

    def test_a_seed_gives_the_same_bytes_and_another_one_others(self):
        again, other = self.make("again"), self.make("other", "--seed", "2")
        self.assertEqual(self.contents(self.made), self.contents(again))
        self.assertNotEqual(self.contents(self.made), self.contents(other))

    def test_no_animal_and_no_background_is_in_two_parts(self):
        for column in ("animal", "background"):
            parts = {}
            for row in self.rows(self.made):
                parts.setdefault(row[column], set()).add(row["split"])
            self.assertEqual({len(found) for found in parts.values()}, {1}, column)

    def test_the_list_names_every_picture_with_its_folders(self):
        rows = self.rows(self.made)
        self.assertEqual(len(rows), 60)
        self.assertEqual({row["path"] for row in rows},
                         {file.relative_to(self.made).as_posix() for file in self.made.rglob("*.jpg")})
        for row in rows:
            part, label, name = row["path"].split("/")
            self.assertEqual((part, label), (row["split"], row["label"]))
            self.assertTrue(row["animal"].startswith(label) and name.startswith(row["animal"]))

    def test_masks_lie_where_the_animal_changed_the_picture(self):
        rows = self.rows(self.masks)
        self.assertEqual(len(rows), len(list(self.masks.glob("*/masks/*.png"))))
        for row in rows:
            with Image.open(self.masks / row["mask"]) as mask, Image.open(self.masks / row["path"]) as picture:
                self.assertEqual(mask.size, picture.size)
                self.assertEqual({value for _, value in mask.getcolors()}, {0, 255})
                if row["label"] != "disc":
                    continue
                blue = picture.getchannel("B").point(lambda value: 255 if value > 160 else 0)
                both = sum(a == b for a, b in zip(blue.tobytes(), mask.tobytes()))
                self.assertGreater(both, 0.97 * mask.width * mask.height)

    def test_the_pictures_are_the_same_with_masks(self):
        self.assertEqual(sorted(file.read_bytes() for file in self.made.rglob("*.jpg")),
                         sorted(file.read_bytes() for file in self.masks.rglob("*.jpg")))

    def test_too_few_originals_and_a_folder_that_is_there_are_refused(self):
        for words, said in ((["made"], "must not be there"), (["few", "--backgrounds", self.folder], "backgrounds must be three")):
            with self.assertRaisesRegex(AssertionError, said):
                run(sys.executable, "-B", SCRIPT, self.folder / words[0], "--stamps", self.folder / "stamps",
                    "--backgrounds", self.folder / "backgrounds", *words[1:])
        self.assertFalse((self.folder / "few").exists())

    @unittest.skipUnless(PROGRAM, "the program is not built with LibTorch")
    def test_pictures_in_folders_go_from_new_to_weights_in_five_commands(self):
        with trained("classification", self.made) as (work, found):
            run(PROGRAM, "predict", found, "--data", self.made / "test", "--output", "p.csv", cwd=work)
            with open(work / "p.csv", newline="") as file:
                self.assertEqual(len(list(csv.DictReader(file))), 12)
            run(PROGRAM, "evaluate", found, "--data", self.made, "--output", "e.json", cwd=work)
            run(PROGRAM, "export", found, "--output", "model.safetensors", cwd=work)
            self.assertIn(b"fc.weight", (work / "model.safetensors").read_bytes()[:60000])

    def test_pictures_with_masks_go_from_new_to_weights(self):
        with trained("segmentation", self.masks) as (work, found):
            pictures = self.masks / "test/images"
            run(PROGRAM, "predict", found, "--data", pictures, "--output", "masks", cwd=work)
            for file in pictures.iterdir():
                with Image.open(file) as picture, Image.open(work / "masks" / (file.stem + ".png")) as mask:
                    self.assertEqual(picture.size, mask.size)
                    self.assertLessEqual({value for _, value in mask.getcolors()}, {0, 255})
            run(PROGRAM, "evaluate", found, "--data", self.masks, "--output", "e.json", cwd=work)
            self.assertIn("mean_dice", (work / "e.json").read_text())
            run(PROGRAM, "export", found, "--output", "model.safetensors", cwd=work)
            self.assertIn(b"segmentation_head.0.weight", (work / "model.safetensors").read_bytes()[:60000])


if __name__ == "__main__":
    unittest.main()
