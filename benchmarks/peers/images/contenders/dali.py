"""DALI on the CPU: decodes only the crop, antialiased linear resize."""

import numpy as np
from nvidia.dali import fn, pipeline_def, types

import common


@pipeline_def
def pipeline(paths, labels):
    jpegs, label = fn.readers.file(files=paths, labels=labels, random_shuffle=True,
                                   initial_fill=len(paths), name="reader")
    images = fn.decoders.image_random_crop(jpegs, device="cpu", output_type=types.RGB,
                                           random_area=[0.08, 1.0],
                                           random_aspect_ratio=[3 / 4, 4 / 3], num_attempts=10)
    images = fn.resize(images, resize_x=224, resize_y=224, interp_type=types.INTERP_LINEAR,
                       antialias=True)
    return fn.flip(images, horizontal=fn.random.coin_flip()), label


def main():
    args = common.arguments()
    listed = common.files(args.data)
    pipe = pipeline([str(path) for path, _ in listed], [label for _, label in listed],
                    batch_size=args.batch, num_threads=args.threads, device_id=None, seed=7)
    pipe.build()

    def epoch():
        for _ in range(args.batches):
            images, _ = pipe.run()
            yield np.asarray(images.as_tensor()) if images.is_dense_tensor() else images.as_array()

    common.serve(epoch, args)


if __name__ == "__main__":
    main()
