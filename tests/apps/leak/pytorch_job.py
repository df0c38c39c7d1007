"""The job in PyTorch, put together from its description, for tests/apps/pytorch_steps.py."""

import torch
from torch import nn
from torch.nn import functional as F


def conv3x3(inputs, outputs):
    return nn.Conv2d(inputs, outputs, 3, padding=1)


class LeakNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2, self.conv3 = conv3x3(1, 32), conv3x3(32, 64), conv3x3(64, 128)
        self.linear = nn.Linear(2048, 256)
        self.class_head, self.leak_head = nn.Linear(256, 2), nn.Linear(256, 1)

    def forward(self, segments):
        maps = F.max_pool2d(F.relu(self.conv2(F.relu(self.conv1(segments)))), (2, 1))
        maps = F.adaptive_avg_pool2d(F.max_pool2d(F.relu(self.conv3(maps)), (2, 1)), (16, 1))
        features = F.relu(self.linear(maps.flatten(1)))
        return self.class_head(features), self.leak_head(features).squeeze(1)


class Job:
    input_shape, classes = (1, 64, 5), 2
    sizes = {"batches": (32,), "windows": (20, 12)}
    clip = 1.0
    network = LeakNetwork

    def class_counts(self):
        return torch.tensor([29, 11])

    def class_weights(self):
        """Inverse frequencies, the leak's times 2.5, with mean one and in float32 as the job keeps them."""
        frequency = self.class_counts().double() / self.class_counts().sum()
        weights = torch.tensor([1.0, 2.5], dtype=torch.float64) / frequency
        return (weights / weights.mean()).float()

    def weight(self, target, present):
        """What a micro-batch weighs in its step."""
        return self.class_weights().double()[target[present]].sum()

    def loss(self, output, target, present):
        logits, leak = output
        main = F.cross_entropy(logits[present], target[present], weight=self.class_weights().to(logits.dtype))
        return main + 0.3 * F.binary_cross_entropy_with_logits(leak[present], (target[present] == 1).to(leak.dtype))

    def schedule(self, optimizer, mode, steps):
        """Six steps up from a tenth of the rate, then half a cosine down to 1e-6 at step 20."""
        up = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=6)
        down = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps - 6, eta_min=1e-6)
        return torch.optim.lr_scheduler.SequentialLR(optimizer, [up, down], milestones=[6])
