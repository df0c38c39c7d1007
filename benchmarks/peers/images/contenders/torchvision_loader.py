"""PyTorch's DataLoader in processes; --variant pil or decoder (torchvision's own JPEG decoder)."""

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, RandomSampler
from torchvision.io import ImageReadMode, decode_jpeg, read_file
from torchvision.transforms import v2

import common


class Pil(Dataset):
    def __init__(self, files):
        self.files = files
        self.transform = v2.Compose([v2.RandomResizedCrop(224, antialias=True),
                                     v2.RandomHorizontalFlip(), v2.PILToTensor()])

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        path, label = self.files[i]
        with Image.open(path) as image:
            return self.transform(image.convert("RGB")), label


class Decoder(Pil):
    def __init__(self, files):
        super().__init__(files)
        self.transform = v2.Compose([v2.RandomResizedCrop(224, antialias=True),
                                     v2.RandomHorizontalFlip()])

    def __getitem__(self, i):
        path, label = self.files[i]
        return self.transform(decode_jpeg(read_file(str(path)), ImageReadMode.RGB)), label


def main():
    args = common.arguments()
    data = {"pil": Pil, "decoder": Decoder}[args.variant](common.files(args.data))
    sampler = RandomSampler(data, num_samples=args.batches * args.batch)
    loader = DataLoader(data, args.batch, sampler=sampler, num_workers=args.threads,
                        persistent_workers=True)
    torch.set_num_threads(1)
    common.serve(lambda: (images for images, _ in loader), args)


if __name__ == "__main__":
    main()
