"""A ResNet-50 step behind PyTorch's ways to feed it JPEG files: decoded, cropped at random to 224,
flipped, uint8; the step of benchmarks/step/step.cpp. Each contender gives an endless iterator of
(uint8 images channels last, labels)."""

from pathlib import Path

import torch
from torch import nn

from measure import Shuffled, loader_options, measure
from networks import ResNet50

SIDE = 224


def files(folder):
    """(path, class) in the order of names, as ImageFolder counts them."""
    classes = sorted(path for path in Path(folder).iterdir() if path.is_dir())
    listed = [(str(path), number) for number, folder in enumerate(classes)
              for path in sorted(folder.glob("*.jpg"))]
    if not listed:
        raise RuntimeError(f"{folder} has no JPEG files; step_benchmark --folder makes them")
    return listed


class Decoded(torch.utils.data.Dataset):
    """torchvision's decoder and transforms in the workers."""

    def __init__(self, folder):
        from torchvision.transforms import v2
        self.files = files(folder)
        self.transform = v2.Compose([v2.RandomResizedCrop(SIDE, antialias=True),
                                     v2.RandomHorizontalFlip()])

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        from torchvision.io import ImageReadMode, decode_jpeg, read_file
        path, label = self.files[index]
        return self.transform(decode_jpeg(read_file(path), ImageReadMode.RGB)), label


class Stored(Decoded):
    """The files' bytes alone: the GPU decodes."""

    def __getitem__(self, index):
        from torchvision.io import read_file
        path, label = self.files[index]
        return read_file(path), label


def end_to_end(rows):
    """Files of a batch as one tensor and their lengths: a tensor each would take a file handle each."""
    files = [stored for stored, _ in rows]
    return torch.cat(files), [len(stored) for stored in files], torch.tensor([label for _, label in rows])


def shuffled(data, args, **more):
    return iter(torch.utils.data.DataLoader(
        data, args.batch, sampler=Shuffled(data), drop_last=True,
        **loader_options(args, args.batch * 3 * SIDE * SIDE), **more))


def decoded(args):
    for images, labels in shuffled(Decoded(args.data), args):
        yield (images.to(args.device, non_blocking=True).permute(0, 2, 3, 1),
               labels.to(args.device, non_blocking=True))


def decoded_on_gpu(args):
    if args.device != "cuda":
        raise RuntimeError("needs a GPU")
    from torchvision.io import ImageReadMode, decode_jpeg
    data = Stored(args.data)
    for stored, lengths, labels in shuffled(data, args, collate_fn=end_to_end):
        images = decode_jpeg(list(stored.split(lengths)), ImageReadMode.RGB, device="cuda")
        images = torch.stack([data.transform(image) for image in images])
        yield images.permute(0, 2, 3, 1), labels.to(args.device, non_blocking=True)


def dali(args):
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.plugin.pytorch import DALIGenericIterator
    listed = files(args.data)
    on_gpu = args.device == "cuda"

    @pipeline_def
    def pipeline():
        stored, label = fn.readers.file(files=[path for path, _ in listed],
                                        labels=[label for _, label in listed],
                                        random_shuffle=True, initial_fill=len(listed))
        images = fn.decoders.image_random_crop(
            stored, device="mixed" if on_gpu else "cpu", output_type=types.RGB,
            random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3], num_attempts=10)
        images = fn.resize(images, resize_x=SIDE, resize_y=SIDE, antialias=True,
                           interp_type=types.INTERP_LINEAR)
        return fn.flip(images, horizontal=fn.random.coin_flip()), label

    pipe = pipeline(batch_size=args.batch, num_threads=max(1, args.workers), seed=7,
                    device_id=0 if on_gpu else None)
    pipe.build()
    for (batch,) in DALIGenericIterator(pipe, ["image", "label"]):
        yield batch["image"], batch["label"].squeeze(1).to(args.device, torch.int64)


def train(args, batches):
    dtype = torch.bfloat16 if args.device == "cuda" else torch.float32
    network = ResNet50().to(args.device, dtype, memory_format=torch.channels_last)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
    mean = torch.tensor([0.485, 0.456, 0.406], device=args.device).mul_(255)
    std = torch.tensor([0.229, 0.224, 0.225], device=args.device).mul_(255)

    def step(batch):
        images, labels = batch
        optimiser.zero_grad(set_to_none=True)
        normalised = images.to(torch.float32).sub_(mean).div_(std).to(dtype).permute(0, 3, 1, 2)
        loss = nn.functional.cross_entropy(network(normalised).float(), labels)
        loss.backward()
        optimiser.step()
        return loss.detach()

    return measure(args, batches, step)


CPU, GPU = "torchvision decode_jpeg in workers", "torchvision decode_jpeg on the GPU"

CONTENDERS = {
    CPU: lambda args: train(args, decoded(args)),
    GPU: lambda args: train(args, decoded_on_gpu(args)),
    "DALI": lambda args: train(args, dali(args)),
}
