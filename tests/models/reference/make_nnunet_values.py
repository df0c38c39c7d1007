#!/usr/bin/env python3
"""Writes nnunet_values.inc: what nnU-Net's own networks and planner give, for the tests of them.
Run once with torch 2.11.0, dynamic-network-architectures 0.4.4 and nnunetv2 2.8.1 (for both, --no-deps suffices):

    python3 make_nnunet_values.py > nnunet_values.inc
"""
import numpy as np
import torch
from dynamic_network_architectures.architectures.unet import PlainConvUNet, ResidualEncoderUNet
from nnunetv2.experiment_planning.experiment_planners.network_topology import get_pool_and_conv_props

from hashed_fill import fill, hashed

NORM = {2: torch.nn.InstanceNorm2d, 3: torch.nn.InstanceNorm3d}
CONV = {2: torch.nn.Conv2d, 3: torch.nn.Conv3d}


def parameter(name, shape):
    if len(shape) > 1:
        return fill(name, shape, 0, (6 / np.prod(shape[1:])) ** 0.5)
    return fill(name, shape, 1 if name.endswith("norm.weight") else 0, 0.5)


def network(kind, o, deep=True):
    dims, stages = o["dims"], len(o["features_per_stage"])
    blocks = {"n_conv_per_stage" if kind is PlainConvUNet else "n_blocks_per_stage": o["n_blocks_per_stage"]}
    return kind(input_channels=o["in_channels"], n_stages=stages, features_per_stage=o["features_per_stage"],
                conv_op=CONV[dims], kernel_sizes=o.get("kernel_sizes", 3),
                strides=o.get("strides", [1] + [2] * (stages - 1)), num_classes=o["classes"],
                n_conv_per_stage_decoder=o["n_conv_per_stage_decoder"], conv_bias=True, norm_op=NORM[dims],
                norm_op_kwargs={"eps": 1e-5, "affine": True}, nonlin=torch.nn.LeakyReLU,
                nonlin_kwargs={"inplace": True}, deep_supervision=deep, **blocks)


def cpp(value):
    if isinstance(value, (list, tuple)):
        return "{" + ", ".join(cpp(v) for v in value) + "}"
    if isinstance(value, str):
        return f'"{value}"'
    return f"{value:.17g}" if isinstance(value, float) else str(int(value))


CASES = {
    "plain 2D": (PlainConvUNet, dict(
        dims=2, in_channels=2, classes=3, features_per_stage=[4, 8, 12], n_blocks_per_stage=[2, 2, 2],
        n_conv_per_stage_decoder=[2, 2]), [16, 24]),
    "plain 3D, anisotropic": (PlainConvUNet, dict(
        dims=3, in_channels=1, classes=2, features_per_stage=[4, 6, 8, 8],
        kernel_sizes=[[1, 3, 3], [1, 3, 3], [3, 3, 3], [3, 5, 3]], strides=[[1, 1, 1], [1, 2, 2], [2, 2, 2], [1, 2, 2]],
        n_blocks_per_stage=[2, 1, 3, 2], n_conv_per_stage_decoder=[1, 2, 3]), [4, 16, 24]),
    "residual 2D": (ResidualEncoderUNet, dict(
        dims=2, in_channels=3, classes=4, features_per_stage=[4, 8, 8], n_blocks_per_stage=[1, 2, 3],
        n_conv_per_stage_decoder=[1, 1]), [16, 24]),
    "residual 3D, anisotropic": (ResidualEncoderUNet, dict(
        dims=3, in_channels=1, classes=2, features_per_stage=[4, 6, 8, 8],
        kernel_sizes=[[1, 3, 3], [3, 3, 3], [3, 3, 3], [3, 3, 3]], strides=[[1, 1, 1], [1, 1, 1], [1, 2, 2], [2, 2, 2]],
        n_blocks_per_stage=[1, 2, 1, 2], n_conv_per_stage_decoder=[1, 2, 1]), [4, 8, 12]),
}


def norms(net, outputs):
    loss = sum((out * fill(f"target.{i}", out.shape, 0, 1)).mean() for i, out in enumerate(outputs))
    loss.backward()
    found = [(name, float(p.grad.norm())) for name, p in net.named_parameters() if not name.endswith("conv.bias")]
    return found[::max(1, len(found) // 8)] + found[-1:]


def kept_values(net, images):
    """Values in different storages that autograd keeps and that are no parameters, beside the statistics of the norms;
    and the logits."""
    kept = {}
    owned = {p.untyped_storage().data_ptr() for p in net.parameters()}

    def pack(tensor):
        if tensor.dim() > 1 and tensor.untyped_storage().data_ptr() not in owned:
            kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        outputs = net(images)
    return sum(t.untyped_storage().nbytes() // t.element_size() for t in kept.values()) + sum(o.numel() for o in outputs)


def emit_cases():
    print("inline const Reference references[] = {")
    for name, (kind, o, sides) in CASES.items():
        net = network(kind, o).double()
        with torch.no_grad():
            for key, tensor in net.named_parameters():
                tensor.copy_(parameter(key, tensor.shape))
        images = fill("images", [2, o["in_channels"]] + sides, 0, 1)
        kept = kept_values(net, images) / (2 * np.prod(sides))
        outputs = net(images)
        listing = "".join(f"{key} {' '.join(map(str, t.shape))}\n" for key, t in net.named_parameters())
        seen = [[float(t.sum()), float(t.abs().sum())] + [float(t.flatten()[i]) for i in (0, t.numel() // 2, -1)]
                for t in (out.detach() for out in outputs)]
        print(f"    {{{cpp(name)}, {cpp(kind is ResidualEncoderUNet)},\n     {{")
        for key, value in o.items():
            print(f"         .{key} = {cpp(value)},")
        print(f"     }},\n     {cpp([2, o['in_channels']] + sides)}, {hashed(listing)}ULL, {cpp(float(kept))},\n     {{")
        for row in seen:
            print(f"         {cpp(row)},")
        print("     },\n     {")
        for row in norms(net, outputs):
            print(f"         {cpp(row)},")
        print("     }},")
    print("};")


def emit_counts():
    """Parameters of the networks of nnU-Net's plans, and how many for each part."""
    features = {2: [32, 64, 128, 256, 512, 512, 512, 512], 3: [32, 64, 128, 256, 320, 320]}
    print("inline const Count counts[] = {")
    for kind in (PlainConvUNet, ResidualEncoderUNet):
        for dims in (2, 3):
            plain = kind is PlainConvUNet
            o = dict(dims=dims, in_channels=1, classes=2, features_per_stage=features[dims],
                     n_blocks_per_stage=2 if plain else [1, 3, 4, 6, 6, 6, 6, 6][:len(features[dims])],
                     n_conv_per_stage_decoder=2 if plain else 1)
            with torch.device("meta"):
                net = network(kind, o)
            total = sum(p.numel() for p in net.parameters())
            stages = [sum(p.numel() for p in stage.parameters()) for stage in net.encoder.stages]
            print(f"    {{{cpp(not plain)}, {dims}, {cpp(features[dims])}, {total}, {cpp(stages)}}},")
    print("};")


def emit_keys():
    print("// All names of the state of small networks, duplicates included.\ninline const char* const checkpoint_keys[] = {")
    for kind in (PlainConvUNet, ResidualEncoderUNet):
        o = dict(dims=2, in_channels=1, classes=2, features_per_stage=[2, 3], n_blocks_per_stage=1, n_conv_per_stage_decoder=1)
        for key in network(kind, o).state_dict():
            print(f"    {cpp(key)},")
    print("};")


def emit_plans():
    patches = [((), (512, 512)), ((), (1024, 40)), ((), (11, 12)), ((), (128, 128, 128)), ((), (96, 160, 160)),
               ((3.0, 1.0, 1.0), (20, 256, 256)), ((5.0, .75, .75), (16, 320, 256)), ((2.0, 1.0, 1.0), (40, 128, 100)),
               ((1.99, 1.0, 1.0), (64, 100, 70)), ((1.0, 1.0, 9.0), (192, 64, 9)), ((.5, 2.0), (300, 31)), ((), (80, 192, 7))]
    print("inline const Planned plans[] = {")
    for spacing, patch in patches:
        _, strides, kernels, padded, _ = get_pool_and_conv_props(spacing or (1.0,) * len(patch), patch, 4, 999999)
        features = [min(512 if len(patch) == 2 else 320, 32 * 2**i) for i in range(len(strides))]
        print(f"    {{{cpp(patch)}, {cpp(spacing)}, {cpp(padded)}, {cpp(features)},\n     {cpp(strides)},\n     {cpp(kernels)}}},")
    print("};")


print("// Written by make_nnunet_values.py: torch", torch.__version__.split("+")[0], "and the packages that it names.\n// clang-format off")
emit_cases()
emit_counts()
emit_keys()
emit_plans()
