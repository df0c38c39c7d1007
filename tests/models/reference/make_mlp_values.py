#!/usr/bin/env python3
"""Writes mlp_values.h: what the layers of models/networks/mlp.h give, put together of PyTorch's, for mlp_test.cpp.
Run once with torch 2.11.0:

    python3 make_mlp_values.py > mlp_values.h
"""
from collections import OrderedDict

import torch
from torch import nn

from hashed_fill import fill

FEATURES, HIDDEN, CLASSES = 12, 64, 5


def state(name, tensor):
    if not tensor.is_floating_point():
        return tensor
    if tensor.dim() > 1:
        return fill(name, tensor.shape, 0, (3 / tensor.shape[1]) ** 0.5)
    return fill(name, tensor.shape, 1 if name.startswith("bn") and name.endswith(("weight", "var")) else 0, 0.3)


net = nn.Sequential(OrderedDict(
    fc1=nn.Linear(FEATURES, HIDDEN), bn1=nn.BatchNorm1d(HIDDEN), act1=nn.GELU(), drop1=nn.Dropout(0.0),
    fc2=nn.Linear(HIDDEN, HIDDEN), bn2=nn.BatchNorm1d(HIDDEN), act2=nn.GELU(), drop2=nn.Dropout(0.0),
    head=nn.Linear(HIDDEN, CLASSES))).double()
net.load_state_dict({key: state(key, value) for key, value in net.state_dict().items()})
logits = net(fill("vectors", (4, FEATURES), 0, 1.5))
(logits * fill("target", logits.shape, 0, 1)).sum().backward()

print("#pragma once\n")
print(f"constexpr long mlp_parameters = {sum(p.numel() for p in net.parameters())};")
text = ", ".join(f"{v:.17g}" for v in logits.detach().flatten().tolist())
print(f"constexpr double mlp_logits[] = {{{text}}};")
print("constexpr struct {\n  const char* name;\n  double norm;\n} mlp_gradients[] = {")
for name, parameter in net.named_parameters():
    print(f'    {{"{name}", {parameter.grad.norm().item():.17g}}},')
print("};")
net.eval()
text = ", ".join(f"{v:.17g}" for v in net(fill("vectors", (4, FEATURES), 0, 1.5)).detach().flatten().tolist())
print(f"// After that step, in evaluation mode.\nconstexpr double mlp_evaluated[] = {{{text}}};")
