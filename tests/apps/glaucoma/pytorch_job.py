"""The job in PyTorch, put together from its description, for tests/apps/pytorch_steps.py."""

from collections import OrderedDict

import torch
from torch import nn
from torch.nn import functional as F


def conv3x3(inputs, outputs):
    return nn.Conv2d(inputs, outputs, 3, padding=1)


def glaucoma_network():
    def chain(*layers):
        return nn.Sequential(OrderedDict(layers))

    def block(inputs, outputs):
        return chain(
            ("conv1", conv3x3(inputs, outputs)), ("norm1", nn.BatchNorm2d(outputs)), ("relu1", nn.ReLU()),
            ("conv2", conv3x3(outputs, outputs)), ("norm2", nn.BatchNorm2d(outputs)), ("relu2", nn.ReLU()),
            ("pool", nn.MaxPool2d(2)))

    stem = chain(("conv", conv3x3(3, 32)), ("norm", nn.BatchNorm2d(32)), ("relu", nn.ReLU()), ("pool", nn.MaxPool2d(2)))
    head = chain(("linear1", nn.Linear(256, 512)), ("relu", nn.ReLU()), ("norm", nn.BatchNorm1d(512)),
                 ("linear2", nn.Linear(512, 5)))
    return chain(("stem", stem), ("block1", block(32, 64)), ("block2", block(64, 128)), ("block3", block(128, 256)),
                 ("average", nn.AdaptiveAvgPool2d(1)), ("flatten", nn.Flatten()), ("head", head))


def focal_loss(logits, target):
    """Gamma 2, alpha 1."""
    losses = F.cross_entropy(logits, target, reduction="none")
    return ((1 - torch.exp(-losses)) ** 2 * losses).mean()


class Job:
    input_shape, classes = (3, 16, 16), 5
    sizes = {"batches": (32,), "windows": (28, 24)}
    clip = None
    network = staticmethod(glaucoma_network)

    def class_counts(self):
        return None

    def loss(self, output, target, present):
        return focal_loss(output[present], target[present])

    def schedule(self, optimizer, mode, steps):
        """The plateau's rate stays within an epoch; else one cycle, up and down again, with fixed momenta."""
        if mode == "batches":
            return torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)
        return torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-3, total_steps=steps, cycle_momentum=False)
