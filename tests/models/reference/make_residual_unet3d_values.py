#!/usr/bin/env python3
"""Writes residual_unet3d_values.inc: what ResidualUNet3D gives that is put together from PyTorch's own layers, for
residual_unet3d_test.cpp. Run once with torch 2.11.0:

    python3 make_residual_unet3d_values.py > residual_unet3d_values.inc
"""
import numpy as np
import torch
from torch import nn

from hashed_fill import fill, hashed


class Block(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        self.conv1 = nn.Conv3d(width, out, 3, padding=1, bias=False)
        self.norm1 = nn.InstanceNorm3d(out, affine=True)
        self.conv2 = nn.Conv3d(out, out, 3, padding=1, bias=False)
        self.norm2 = nn.InstanceNorm3d(out, affine=True)
        self.dropout = nn.Dropout3d(0.15)
        self.proj = nn.Conv3d(width, out, 1) if width != out else nn.Identity()

    def forward(self, x):
        inner = nn.functional.mish(self.norm1(self.conv1(x)))
        return nn.functional.mish(self.dropout(self.norm2(self.conv2(inner))) + self.proj(x))


def blocks(width, out, count):
    return nn.Sequential(*(Block(width if i == 0 else out, out) for i in range(count)))


class Network(nn.Module):
    def __init__(self, channels, classes, base, count):
        super().__init__()
        widths = [base * factor for factor in (1, 2, 2, 4, 4)]
        self.encoder_blocks = nn.ModuleList(blocks(a, b, count) for a, b in zip([channels] + widths, widths))
        self.bottleneck = blocks(widths[-1], 8 * base, count)
        up = widths[-2::-1]
        self.upconvs = nn.ModuleList(nn.ConvTranspose3d(a, b, 2, stride=2) for a, b in zip([8 * base] + up, up))
        self.decoder_blocks = nn.ModuleList(blocks(2 * width, width, count) for width in up)
        self.head = nn.Conv3d(base, classes, 1)
        self.aux_heads = nn.ModuleList(nn.Conv3d(width, classes, 1) for width in up[:-1])

    def forward(self, x):
        skips = []
        for stage in self.encoder_blocks:
            x = stage(nn.functional.max_pool3d(x, 2) if skips else x)
            skips.append(x)
        x = self.bottleneck(skips.pop())
        logits = []
        for up, stage, head in zip(self.upconvs, self.decoder_blocks, [*self.aux_heads, self.head]):
            skip = skips.pop()
            x = up(x)
            if x.shape[2:] != skip.shape[2:]:
                x = nn.functional.interpolate(x, size=skip.shape[2:], mode="trilinear", align_corners=False)
            x = stage(torch.cat([x, skip], 1))
            logits.insert(0, head(x))
        return logits


CASES = (("odd sides", 1, 1, 4, 2, (2, 1, 17, 35, 37)), ("even sides, several channels", 2, 3, 3, 1, (2, 2, 32, 16, 48)))
WATCHED = ("encoder_blocks.0.0.conv1.weight", "encoder_blocks.0.0.norm2.weight", "encoder_blocks.0.0.proj.weight", "encoder_blocks.0.0.proj.bias",
           "encoder_blocks.1.0.norm1.bias", "encoder_blocks.2.0.conv2.weight", "encoder_blocks.3.0.proj.weight", "encoder_blocks.4.0.norm1.weight",
           "bottleneck.0.conv1.weight", "bottleneck.0.norm2.bias", "upconvs.0.weight", "upconvs.3.bias", "decoder_blocks.0.0.conv1.weight",
           "decoder_blocks.1.0.norm2.weight", "decoder_blocks.2.0.proj.bias", "decoder_blocks.3.0.conv2.weight", "aux_heads.0.weight",
           "aux_heads.2.bias", "head.weight")


def state(name, tensor):
    """Weights that keep the size of maps, norms near the identity."""
    shape = tensor.shape
    if len(shape) > 1:
        return fill(name, shape, 0, (2 / np.prod(shape[1:])) ** 0.5)
    return fill(name, shape, 1, 0.5) if name.endswith(".weight") else fill(name, shape, 0, 0.1)


def kept_values(net, images):
    """Values in different storages that autograd keeps and that are no parameters; and the logits."""
    own = {t.untyped_storage().data_ptr() for t in net.parameters()}
    kept = {}

    def pack(t):
        if t.untyped_storage().data_ptr() not in own:
            kept[t.untyped_storage().data_ptr()] = (t, t.untyped_storage().nbytes() // 8)
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        outputs = net(images)
    for t in outputs:
        kept[t.untyped_storage().data_ptr()] = (t, t.untyped_storage().nbytes() // 8)
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


print("// Written by make_residual_unet3d_values.py: torch", torch.__version__.split("+")[0])
print("// clang-format off\ninline const UNet3dReference unet3d_references[] = {")
for title, channels, classes, base, count, sizes in CASES:
    net = Network(channels, classes, base, count).double()
    shapes = sorted(f"{key} {list(value.shape)}\n" for key, value in net.state_dict().items())
    net.load_state_dict({key: state(key, value) for key, value in net.state_dict().items()})
    images = fill("images", sizes, 0, 1.5)
    kept = kept_values(net.train(), images) / (images.numel() / channels)
    images.requires_grad_()
    outputs = net.eval()(images)
    sum((out * fill(f"target.{i}", out.shape, 0, 1)).mean() for i, out in enumerate(outputs)).backward()
    parameters = dict(net.named_parameters())
    norms = [[key, parameters[key].grad.norm().item()] for key in WATCHED]
    print(f"    {{{cpp(title)}, {channels}, {classes}, {base}, {count}, {cpp(sizes)}, 0x{hashed(''.join(shapes)):016X}ULL, {cpp(float(kept))},")
    print(f"     {cpp([summary(out) for out in outputs])},\n     {images.grad.norm().item():.17g},\n     {cpp(norms)}}},")
print("};")
