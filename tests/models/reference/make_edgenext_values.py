#!/usr/bin/env python3
"""Writes edgenext_values.inc: what timm's EdgeNeXts give, for edgenext_values_test.cpp. Run once with torch 2.11.0 and timm 1.0.31:

    python3 make_edgenext_values.py > edgenext_values.inc
"""
import numpy as np
import timm
import torch
from timm.models import edgenext

from hashed_fill import fill, hashed


class DoubleTorch:
    """torch, where float32 is float64: timm computes the positional encoding in float32 whatever the weights are."""

    float32 = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)


edgenext.torch = DoubleTorch()

NAMES = ("edgenext_xx_small", "edgenext_x_small", "edgenext_small", "edgenext_base")
WATCHED = ("stem.0.weight", "stem.1.bias", "stages.0.blocks.0.conv_dw.weight", "stages.0.blocks.1.gamma", "stages.1.downsample.0.weight",
           "stages.1.downsample.1.bias", "stages.2.blocks.1.mlp.fc1.weight", "head.norm.weight", "head.fc.weight")
# Of the last block of stages 1, 2 and 3.
WATCHED_OF_SDTA = ("convs.0.weight", "norm_xca.bias", "gamma_xca", "xca.temperature", "xca.qkv.weight", "xca.proj.bias", "mlp.fc2.weight", "gamma")


def state(name, tensor):
    """Weights that keep the size of maps, norms near the identity, scales of branches that let these count."""
    shape = tensor.shape
    if len(shape) > 1:
        return fill(name, shape, 0, (2 / np.prod(shape[1:])) ** 0.5)
    if name.endswith(".weight"):
        return fill(name, shape, 1, 0.5)
    return fill(name, shape, 0, 0.1)


def kept_values(net, images):
    """Float-sized values that the backward pass keeps, each memory once, but for parameters."""
    own = {t.untyped_storage().data_ptr() for t in net.state_dict().values()}
    kept = {}

    def pack(t):
        if t.untyped_storage().data_ptr() not in own:
            kept[t.untyped_storage().data_ptr()] = (t, t.untyped_storage().nbytes() // 8)
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        out = net(images)
    del out
    return sum(size for _, size in kept.values())


def cpp(value):
    if isinstance(value, (list, tuple)):
        return "{" + ", ".join(cpp(v) for v in value) + "}"
    if isinstance(value, str):
        return f'"{value}"'
    return f"{value:.17g}" if isinstance(value, float) else str(int(value))


def summary(tensor):
    flat = tensor.detach().flatten()
    picks = [flat[i * (flat.numel() - 1) // 7].item() for i in range(8)]
    return [flat.mean().item(), flat.abs().mean().item(), picks]


for name in NAMES:
    net = timm.create_model(name).double()
    sizes = sorted(f"{key} {list(value.shape)}\n" for key, value in net.state_dict().items())
    net.load_state_dict({key: state(key, value) for key, value in net.state_dict().items()})
    images = fill("images", (2, 3, 64, 96), 0, 1.5)
    kept = kept_values(net.train(), images) / (images.numel() / 3)
    maps = net.forward_intermediates(images, intermediates_only=True)
    out = net.eval()(images)
    (out * fill("target", out.shape, 0, 1)).mean().backward()
    parameters = dict(net.named_parameters())
    watched = WATCHED + tuple(f"stages.{stage}.blocks.{len(net.stages[stage].blocks) - 1}.{part}"
                              for stage in (1, 2, 3) for part in WATCHED_OF_SDTA)
    watched += (f"stages.1.blocks.{len(net.stages[1].blocks) - 1}.pos_embd.token_projection.weight",)
    norms = [[key, parameters[key].grad.norm().item()] for key in watched]
    features = timm.create_model(name, features_only=True)
    stages = [sum(p.numel() for p in stage.parameters()) for stage in net.stages]
    counts = [sum(p.numel() for p in part.parameters()) for part in (net, features, net.stem, net.head)] + stages
    print(f'{{"{name}", {cpp(counts)}, {len(sizes)}, 0x{hashed("".join(sizes)):016X}ULL, {cpp(float(kept))},')
    print(f" {cpp(summary(out))},\n {cpp([summary(m) for m in maps])},\n {cpp(norms)}}},")
