"""What TorchIO's and MONAI's contenders share: patches of arrays in memory in PyTorch's DataLoader."""

import itertools

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset

import common


class Patches(IterableDataset):
    """Enlarged patches, and `transform(image, label)` of them, which cuts them down to the patch."""

    def __init__(self, args, transform):
        self.read = common.enlarged(args.patch)
        self.batch = args.batch
        self.transform = transform
        self.image = np.load(args.folder / "image.npy")
        self.label = np.load(args.folder / "label.npy")

    def __iter__(self):
        torch.set_num_threads(1)
        worker = torch.utils.data.get_worker_info()
        boxes = common.Boxes(self.label, self.read, worker.id if worker else 0)
        for row in itertools.count():
            begin = boxes.begin(row % self.batch >= round(self.batch * (1 - 0.33)))
            yield self.transform(torch.from_numpy(common.cut(self.image, begin, self.read)),
                                 torch.from_numpy(common.cut(self.label, begin, self.read)))


def serve(transform, args):
    torch.set_num_threads(1)
    loader = iter(DataLoader(Patches(args, transform), args.batch, num_workers=args.threads,
                             persistent_workers=True))
    common.serve(lambda: loader, args, 2 * args.threads)  # two a worker are ready


def middle(tensor, patch):
    """The patch in the middle of the last three axes."""
    begin = [(extent - p) // 2 for extent, p in zip(tensor.shape[-3:], patch)]
    z, y, x = (slice(b, b + p) for b, p in zip(begin, patch))
    return tensor[..., z, y, x]
