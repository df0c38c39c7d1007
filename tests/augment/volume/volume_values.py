#!/usr/bin/env python3
"""Makes data/volume_values.bin: what other libraries make of small volumes.

Run once with batchgeneratorsv2 0.3.6, torch 2.11.0 and scikit-image 0.26.0, on one thread:
  python3 volume_values.py data/volume_values.bin
The file is a row of arrays: length of the name (1 byte), name, kind (1 byte: 'f' float32, 'b' uint8, 'p' bits, the
highest first), count of values (4 bytes, little-endian), values.
"""
import struct
import sys

import numpy as np
import torch
from batchgeneratorsv2.transforms.intensity.brightness import MultiplicativeBrightnessTransform
from batchgeneratorsv2.transforms.intensity.contrast import ContrastTransform
from batchgeneratorsv2.transforms.intensity.gamma import GammaTransform
from batchgeneratorsv2.transforms.noise.gaussian_blur import GaussianBlurTransform
from batchgeneratorsv2.transforms.spatial.low_resolution import SimulateLowResolutionTransform
from skimage.morphology import dilation, skeletonize
from torch.nn.functional import interpolate

SHAPE = (9, 11, 13)
torch.set_num_threads(1)
out = open(sys.argv[1], "wb")


def put(name, kind, values):
    raw = np.ascontiguousarray(values).reshape(-1)
    data = {"f": lambda: raw.astype("<f4"), "b": lambda: raw.astype(np.uint8), "p": lambda: np.packbits(raw != 0)}[kind]()
    out.write(struct.pack("<B", len(name)) + name.encode() + kind.encode() + struct.pack("<I", raw.size) + data.tobytes())


generator = np.random.default_rng(11)


def smooth(shape, times):
    field = generator.normal(size=shape)
    for _ in range(times):
        for axis in range(3):
            field = (np.roll(field, 1, axis) + 2 * field + np.roll(field, -1, axis)) / 4
    return field


image = torch.tensor((smooth(SHAPE, 1) * 3 + 0.7)[None], dtype=torch.float32)
put("image", "f", image)


def case(name, transform, **drawn):
    put(name, "f", transform._apply_to_image(image.clone(), **drawn))


def gamma(exponent, invert, retain):
    return dict(apply_to_channel=torch.tensor([0]), retain_stats=torch.tensor([retain]), invert_image=torch.tensor([invert]),
                gamma=torch.tensor([exponent]))


blur = GaussianBlurTransform((0.5, 1.0))
for sigmas in ((0.5, 0.75, 1.0), (1.0, 0.51, 0.9), (1.5, 1.2, 2.0)):
    case("blur " + " ".join(map(str, sigmas)), blur, apply_to_channel=torch.tensor([True]), sigmas=[list(sigmas)])
case("brightness 1.2", MultiplicativeBrightnessTransform((1, 1), False), apply_to_channel=torch.tensor([0]),
     multipliers=torch.tensor([1.2]))
for factor in (0.8, 1.25):
    for keep in (True, False):
        case(f"contrast {factor} {int(keep)}", ContrastTransform((1, 1), keep, False), apply_to_channel=torch.tensor([0]),
             multipliers=torch.tensor([factor]))
low = SimulateLowResolutionTransform((0.5, 1), False, True, None)
for zoom in (0.5, 0.63, 0.77, 1.0):
    case(f"zoom {zoom}", low, apply_to_channel=[0], scales=torch.Tensor([[zoom] * 3]))
for exponent in (0.7, 1.4):
    for invert in (False, True):
        for retain in (True, False):
            case(f"gamma {exponent} {int(invert)} {int(retain)}", GammaTransform((1, 1), 0, False, 1, 1),
                 **gamma(exponent, invert, retain))

solids = {}
solids["blobs"] = smooth((14, 18, 20), 3) > 0.08
z, y, x = np.mgrid[:16, :20, :22]
solids["sheet"] = np.abs(z - 7 - 3 * np.sin(x / 4) * np.cos(y / 5)) < 1.6
solids["crumbs"] = generator.random((10, 12, 14)) < 0.5
solids["ball"] = (z - 8) ** 2 + (y - 9) ** 2 + (x - 10) ** 2 < 36
solids["cubes"] = (z // 5 + y // 7 + x // 6) % 2 == 0
for name, solid in solids.items():
    put("solid " + name, "p", solid)
    skeleton = skeletonize(solid, method="lee") > 0
    put("skeleton " + name, "p", skeleton)
    put("tube " + name, "p", dilation(dilation(skeleton.astype(np.int16))))
    put("slices " + name, "p", np.stack([skeletonize(plane, method="lee") > 0 for plane in solid]))

label = generator.integers(0, 6, (13, 18, 21)).astype(np.uint8)
put("label", "b", label)
for scales in ((0.5, 0.5, 0.5), (1.0, 0.25, 0.25), (0.3, 0.7, 0.9), (0.125, 1.0, 1.0)):
    size = [max(1, round(n * s)) for n, s in zip(label.shape, scales)]
    smaller = interpolate(torch.tensor(label)[None, None].float(), size, mode="nearest-exact")
    put("nearest " + " ".join(map(str, scales)), "b", smaller)
out.close()
