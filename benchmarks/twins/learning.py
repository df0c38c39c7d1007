"""The loss and the optimiser of our programs, in PyTorch."""

import torch
from torch import nn


def leak_loss(output, label, weights):
    """models/losses/leak_loss.cpp, with a weight for each class."""
    output = output.float()
    main = nn.functional.cross_entropy(output[:, :2], label, weights)
    leak = nn.functional.binary_cross_entropy_with_logits(output[:, 2], (label == 1).float())
    return main + 0.3 * leak


def optimiser_of(network, fused=True):
    """AdamW, in one kernel if asked for; biases do not decay, as with ours."""
    parameters = list(network.parameters())
    groups = [{"params": [p for p in parameters if p.dim() > 1], "weight_decay": 0.01},
              {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=1e-3, fused=fused)
