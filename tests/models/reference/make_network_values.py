#!/usr/bin/env python3
"""Writes network_values.inc: what timm's and segmentation_models.pytorch's networks give, for network_values_test.cpp.
Run once with torch 2.11.0, timm 1.0.31, segmentation_models_pytorch 0.6.0 and torchvision 0.26.0:

    python3 make_network_values.py > network_values.inc
"""
import numpy as np
import segmentation_models_pytorch as smp
import timm
import torch

from hashed_fill import fill, hashed



def with_head(name, hidden):
    """Of one output, with hidden layers, and dropout where it has no part in the values."""
    net = timm.create_model(name)
    layers, features = [], net.num_features
    for count in hidden:
        layers += [torch.nn.Dropout(0), torch.nn.Linear(features, count), torch.nn.ReLU(), torch.nn.BatchNorm1d(count)]
        features = count
    net.fc = torch.nn.Sequential(*layers, torch.nn.Dropout(0), torch.nn.Linear(features, 1))
    return net


RESNETS = ("resnet18", "resnet34", "resnet50", "seresnext50_32x4d")
CASES = {(name, "", ()): lambda name=name: timm.create_model(name) for name in RESNETS}
CASES[("legacy_seresnext50_32x4d", "", ())] = lambda: timm.create_model("legacy_seresnext50_32x4d", drop_rate=0)
CASES[("seresnext50_32x4d", "", (512, 128))] = lambda: with_head("seresnext50_32x4d", (512, 128))
CASES |= {("unet", encoder, ()): lambda encoder=encoder: smp.Unet(encoder, encoder_weights=None, in_channels=3, classes=2)
          for encoder in ("resnet18", "resnet34", "resnet50")}
RESNET = ("layer1.0.bn1.weight", "layer2.0.downsample.0.weight", "layer4.1.conv2.weight")
PARAMETERS = {"resnet": ("conv1.weight", *RESNET, "fc.weight", "fc.bias"),
              "seresnext50_32x4d": ("conv1.weight", *RESNET, "layer1.0.se.fc1.weight", "layer3.5.se.fc2.bias", "fc.weight", "fc.bias"),
              "legacy_seresnext50_32x4d": ("layer0.conv1.weight", *RESNET, "layer1.0.se_module.fc1.weight",
                                           "layer3.5.se_module.fc2.bias", "last_linear.weight", "last_linear.bias"),
              "head": ("conv1.weight", *RESNET, "layer1.0.se.fc1.weight", "fc.1.weight", "fc.3.bias", "fc.7.weight", "fc.9.weight", "fc.9.bias"),
              "unet": ("encoder.conv1.weight", "encoder.layer3.0.downsample.1.bias", "decoder.blocks.0.conv1.0.weight",
                          "decoder.blocks.3.conv2.1.weight", "segmentation_head.0.weight", "segmentation_head.0.bias")}


def state(name, tensor):
    """Weights that keep the size of maps through residual sums, norms near the identity."""
    shape = tensor.shape
    if name.endswith("num_batches_tracked"):
        return tensor
    if len(shape) > 1:
        return fill(name, shape, 0, (2 / np.prod(shape[1:])) ** 0.5)
    if name.endswith((".weight", ".running_var")):
        return fill(name, shape, 1, 0.5)
    return fill(name, shape, 0, 0.1)


def kept_values(net, images):
    """Float-sized values that the backward pass keeps, each memory once, but for parameters."""
    own = {t.untyped_storage().data_ptr() for t in net.state_dict().values()}
    kept = {}

    def pack(t):
        if t.untyped_storage().data_ptr() not in own and t.dim() == 4:
            kept[t.untyped_storage().data_ptr()] = (t, t.numel() * (2 if t.dtype == torch.int64 else 1))
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


for (name, encoder, hidden), make in CASES.items():
    net = make().double()
    sizes = sorted(f"{key} {list(value.shape)}\n" for key, value in net.state_dict().items())
    net.load_state_dict({key: state(key, value) for key, value in net.state_dict().items()})
    # Of two rows a norm of vectors makes 1 and -1, whatever they are.
    images = fill("images", (8, 3, 32, 48) if hidden else (2, 3, 64, 96), 0, 1.5)
    net.eval()
    evaluated = summary(net(images))
    kept = kept_values(net.train(), images) / (images.numel() / 3)
    net.load_state_dict({key: state(key, value) for key, value in net.state_dict().items()})
    out = net(images)
    (out * fill("target", out.shape, 0, 1)).mean().backward()
    parameters = dict(net.named_parameters())
    buffers = dict(net.named_buffers())
    watched = PARAMETERS["head" if hidden else "resnet" if name.startswith("resnet") else name]
    norms = [[key, parameters[key].grad.norm().item()] for key in watched]
    moved = [key for key in buffers if key.endswith(("bn1.running_mean", "layer4.0.bn1.running_var"))]
    moved = [moved[0], next(key for key in moved if key.endswith("var"))]
    norms_of_buffers = [[key, buffers[key].norm().item()] for key in moved]
    count = sum(p.numel() for p in net.parameters())
    print(cpp([name, encoder, hidden, count, len(sizes)])[:-1] + f", 0x{hashed(''.join(sizes)):016X}ULL, {cpp(float(kept))},")
    print(f" {cpp(evaluated)},\n {cpp(summary(out))},\n {cpp(norms)},\n {cpp(norms_of_buffers)}}},")
