"""FFCV: the JPEG files' bytes in its own file format, written once."""

import io
import os

import numpy as np
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.decoders import IntDecoder, RandomResizedCropRGBImageDecoder
from ffcv.fields.rgb_image import IMAGE_MODES
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import RandomHorizontalFlip
from ffcv.writer import DatasetWriter
from PIL import Image

import common


class Folder:
    """Photographs as FFCV's writer takes them; repeated, so that an epoch is as long as the others'."""

    def __init__(self, files, length):
        self.files = files
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, i):
        path, label = self.files[i % len(self.files)]
        return np.frombuffer(path.read_bytes(), np.uint8), label


def encode_jpeg(_, destination, jpeg, malloc):
    """FFCV's image field encodes pixels; here it passes the file's own JPEG on, unchanged."""
    width, height = Image.open(io.BytesIO(jpeg.tobytes())).size
    destination["mode"] = IMAGE_MODES["jpg"]
    destination["height"], destination["width"] = height, width
    destination["data_ptr"], storage = malloc(jpeg.nbytes)
    storage[:] = jpeg


def write(path, files, length):
    RGBImageField.encode = encode_jpeg
    fields = {"image": RGBImageField(write_mode="jpg"), "label": IntField()}
    DatasetWriter(str(path), fields, num_workers=1).from_indexed_dataset(
        Folder(files, length), shuffle_indices=False)


def main():
    args = common.arguments()
    beton = args.cache / f"{args.data.name}-{args.batches * args.batch}.beton"
    if not beton.exists():
        part = beton.with_suffix(f".{os.getpid()}")
        write(part, common.files(args.data), args.batches * args.batch)
        part.rename(beton)
    loader = Loader(str(beton), batch_size=args.batch, num_workers=args.threads,
                    order=OrderOption.RANDOM, os_cache=True, drop_last=True, pipelines={
                        "image": [RandomResizedCropRGBImageDecoder((224, 224)),
                                  RandomHorizontalFlip()],
                        "label": [IntDecoder()]})
    common.serve(lambda: (batch[0] for batch in loader), args)


if __name__ == "__main__":
    main()
