"""SPDL: FFmpeg decodes, crops, scales and flips in threads; batches of converted frames."""

import math
import random

import spdl.io
from PIL import Image
from spdl.pipeline import PipelineBuilder

import common


def crop(width, height):
    """torchvision's RandomResizedCrop.get_params, as FFmpeg's crop."""
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1.0)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return w, h, random.randint(0, width - w), random.randint(0, height - h)
    return width, height, 0, 0


def main():
    args = common.arguments()
    listed = [str(path) for path, _ in common.files(args.data)]
    width, height = Image.open(listed[0]).size  # all of a set have one size

    def paths():
        left = args.batches * args.batch
        while left > 0:
            order = random.sample(listed, len(listed))[:left]
            left -= len(order)
            yield from order

    def decode(path):
        w, h, x, y = crop(width, height)
        flip = "hflip," if random.random() < 0.5 else ""
        # swscale's bilinear filter widens as it shrinks: antialiased
        return spdl.io.decode_packets(
            spdl.io.demux_image(path),
            filter_desc=f"crop={w}:{h}:{x}:{y},scale=224:224:flags=bilinear,{flip}format=pix_fmts=rgb24")

    def epoch():
        pipeline = (PipelineBuilder().add_source(paths())
                    .pipe(decode, concurrency=args.threads)
                    .aggregate(args.batch)
                    .pipe(spdl.io.convert_frames)
                    .add_sink(3).build(num_threads=args.threads))
        with pipeline.auto_stop():
            for batch in pipeline:
                yield spdl.io.to_numpy(batch)

    common.serve(epoch, args)


if __name__ == "__main__":
    main()
