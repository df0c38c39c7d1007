"""The task in PyTorch, put together from its description, for tests/apps/pytorch_steps.py."""

import torch
from classification.pytorch_job import cosine_schedule
from networks import ResNet18, scaled
from torch import nn
from torch.nn import functional as F


def conv_norm_relu(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


class DecoderBlock(nn.Module):
    def __init__(self, inputs, skipped, outputs):
        super().__init__()
        self.conv1, self.conv2 = conv_norm_relu(inputs + skipped, outputs), conv_norm_relu(outputs, outputs)

    def forward(self, x, skip=None):
        x = F.interpolate(x, scale_factor=2.0, mode="nearest")
        return self.conv2(self.conv1(x if skip is None else torch.cat([x, skip], 1)))


class Unet(nn.Module):
    """Over a ResNet-18, with the names of segmentation_models.pytorch."""

    def __init__(self, classes, width):
        super().__init__()
        self.encoder = ResNet18(None, width)
        below, *skips = reversed(self.encoder.channels)
        blocks = []
        for outputs, skipped in zip((256, 128, 64, 32, 16), (*skips, 0)):
            blocks.append(DecoderBlock(below, skipped, scaled(outputs, width)))
            below = scaled(outputs, width)
        self.decoder = nn.Module()
        self.decoder.blocks = nn.ModuleList(blocks)
        self.segmentation_head = nn.Sequential(nn.Conv2d(below, classes, 3, padding=1))

    def forward(self, x):
        x, *skips = reversed(self.encoder.maps(x))
        for block, skip in zip(self.decoder.blocks, (*skips, None)):
            x = block(x, skip)
        return self.segmentation_head(x)


def dice_loss(logits, target):
    """Of each picture and class but the background, smoothed by 1e-5."""
    p = logits.softmax(1)[:, 1:]
    truth = F.one_hot(target, logits.shape[1]).movedim(-1, 1)[:, 1:]
    both, sums = (p * truth).sum((2, 3)), p.sum((2, 3)) + truth.sum((2, 3))
    return (1 - (2 * both + 1e-5) / (sums + 1e-5)).mean()


class Job:
    """A U-Net over ResNet-18 in a quarter of its width."""

    input_shape, classes = (3, 64, 64), 4
    sizes = {"batches": (8,), "windows": (6, 5)}
    clip = None

    def network(self):
        return Unet(self.classes, 0.25)

    def masks(self, labels):
        """Of each picture a band of its class and one of the next class on background."""
        masks = torch.zeros(len(labels), *self.input_shape[1:], dtype=torch.int64)
        masks[:, 8:28] = labels.view(-1, 1, 1)
        masks[:, 36:52] = (labels.view(-1, 1, 1) + 1) % self.classes
        return masks

    def class_counts(self):
        return None

    def loss(self, output, target, present):
        return F.cross_entropy(output[present], target[present]) + dice_loss(output[present], target[present])

    def schedule(self, optimizer, mode, steps):
        return cosine_schedule(optimizer, steps)


class Smp(Job):
    """The network of segmentation_models.pytorch, in full width."""

    def network(self):
        import segmentation_models_pytorch

        return segmentation_models_pytorch.Unet("resnet18", encoder_weights=None, classes=self.classes)
