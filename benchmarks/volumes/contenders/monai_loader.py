"""MONAI's transforms, with nnU-Net's probabilities or all of them; labels by nearest."""

import numpy as np
from monai.data import MetaTensor, set_track_meta
from monai.transforms import (Compose, Rand3DElasticd, RandAdjustContrastd, RandAffined, RandFlipd,
                              RandGaussianNoised, RandGaussianSmoothd, RandScaleIntensityd,
                              RandScaleIntensityFixedMeand, RandSimulateLowResolutiond)

import common
import torch_patches

BOTH = ["image", "label"]
ANGLES = [np.pi / 6] * 3
SCALES = [(-0.3, 0.4)] * 3
MODES = ["bilinear", "nearest"]


def flips():
    return [RandFlipd(BOTH, 0.5, axis) for axis in range(3)]


def nnunet(patch):
    sigma = (0.5, 1.0)
    return [RandAffined(BOTH, patch, 0.2, rotate_range=ANGLES, mode=MODES, padding_mode="zeros"),
            RandAffined(BOTH, patch, 0.2, scale_range=SCALES, mode=MODES, padding_mode="zeros"),
            RandGaussianNoised("image", 0.1, std=0.1),
            RandGaussianSmoothd("image", sigma, sigma, sigma, prob=0.2 * 0.5),
            RandScaleIntensityd("image", 0.25, 0.15),
            RandScaleIntensityFixedMeand("image", factors=0.25, preserve_range=True, prob=0.15),
            RandSimulateLowResolutiond("image", 0.25 * 0.5, zoom_range=(0.5, 1.0)),
            RandAdjustContrastd("image", 0.1, (0.7, 1.5), invert_image=True, retain_stats=True),
            RandAdjustContrastd("image", 0.3, (0.7, 1.5), retain_stats=True), *flips()]


def surface(patch):
    # Noise in [-1, 1] smoothed so wide hardly moves a voxel: 1,000 makes it some voxels.
    return [Rand3DElasticd(BOTH, (8, 8), (1000, 1000), patch, 1.0, rotate_range=ANGLES, scale_range=SCALES,
                           mode=MODES, padding_mode="zeros"),
            *flips(), RandGaussianNoised("image", 1.0, std=0.1),
            RandAdjustContrastd("image", 1.0, (0.7, 1.5), retain_stats=True)]


def plain(tensor):
    return tensor.as_tensor() if isinstance(tensor, MetaTensor) else tensor


def main():
    args = common.arguments()
    set_track_meta(False)
    steps = Compose({"nnunet": nnunet, "surface": surface}[args.work](args.patch))

    def transform(image, label):
        made = steps({"image": image, "label": label})
        return tuple(torch_patches.middle(plain(made[name]), args.patch).contiguous() for name in BOTH)

    torch_patches.serve(transform, args)


if __name__ == "__main__":
    main()
