"""The task in PyTorch, put together from its description, for tests/apps/pytorch_steps.py."""

import sys
from pathlib import Path

import torch
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks/twins"))
from networks import ResNet18  # noqa: E402


def cosine_schedule(optimizer, steps):
    """Four steps up from a tenth of the rate, then half a cosine down to nothing at the last."""
    up = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=4)
    down = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps - 4)
    return torch.optim.lr_scheduler.SequentialLR(optimizer, [up, down], milestones=[4])


class Job:
    """ResNet-18 in a quarter of its width."""

    input_shape, classes = (3, 64, 64), 5
    sizes = {"batches": (16,), "windows": (9, 8)}
    clip = None

    def network(self):
        return ResNet18(self.classes, 0.25)

    def class_counts(self):
        return None

    def loss(self, output, target, present):
        return F.cross_entropy(output[present], target[present], label_smoothing=0.1)

    def schedule(self, optimizer, mode, steps):
        return cosine_schedule(optimizer, steps)


class Timm(Job):
    """timm's own network, in full width."""

    def network(self):
        import timm

        return timm.create_model("resnet18", num_classes=self.classes)
