"""mlx-data: a stream of whole batches, each made by one of its prefetch threads."""

import mlx.data as dx
import numpy as np

import common


def main():
    args = common.arguments()
    listed = [{"image": str(path).encode(), "label": label} for path, label in common.files(args.data)]

    def epoch():
        passes = -(-args.batches * args.batch // len(listed))
        stream = (dx.buffer_from_vector(listed * passes).shuffle().to_stream()
                  .load_image("image")
                  .image_random_area_crop("image", (0.08, 1.0), (3 / 4, 4 / 3))
                  .image_resize("image", 224, 224)
                  .image_random_h_flip("image", 0.5)
                  .batch(args.batch)
                  .prefetch(8, args.threads))
        for _, sample in zip(range(args.batches), stream):
            yield np.asarray(sample["image"])

    common.serve(epoch, args)


if __name__ == "__main__":
    main()
