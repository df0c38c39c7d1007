"""nnU-Net's loader over batchgeneratorsv2, in processes of one thread; --variant b2nd (its files, mapped) or
memory (the arrays themselves)."""

import blosc2
import numpy as np
import torch
from batchgenerators.dataloading.data_loader import DataLoader
from batchgenerators.dataloading.nondet_multi_threaded_augmenter import NonDetMultiThreadedAugmenter
from batchgeneratorsv2.transforms.intensity.brightness import MultiplicativeBrightnessTransform
from batchgeneratorsv2.transforms.intensity.contrast import BGContrast, ContrastTransform
from batchgeneratorsv2.transforms.intensity.gamma import GammaTransform
from batchgeneratorsv2.transforms.intensity.gaussian_noise import GaussianNoiseTransform
from batchgeneratorsv2.transforms.noise.gaussian_blur import GaussianBlurTransform
from batchgeneratorsv2.transforms.spatial.low_resolution import SimulateLowResolutionTransform
from batchgeneratorsv2.transforms.spatial.mirroring import MirrorTransform
from batchgeneratorsv2.transforms.spatial.spatial import SpatialTransform
from batchgeneratorsv2.transforms.utils.compose import ComposeTransforms
from batchgeneratorsv2.transforms.utils.random import RandomTransform
from batchgeneratorsv2.transforms.utils.remove_label import RemoveLabelTansform

import common

ANGLES = (-np.pi / 6, np.pi / 6)
GAMMA = BGContrast((0.7, 1.5))
ABOUT_ONE = BGContrast((0.75, 1.25))


def spatial(patch, probability, elastic):
    return SpatialTransform(
        patch, patch_center_dist_from_border=0, random_crop=False, p_elastic_deform=elastic,
        elastic_deform_scale=(8 / max(patch), 8 / min(patch)), elastic_deform_magnitude=(4, 6),
        p_rotation=probability, rotation=ANGLES, p_scaling=probability, scaling=(0.7, 1.4),
        p_synchronize_scaling_across_axes=1, bg_style_seg_sampling=False)


def nnunet(patch):
    """nnUNetTrainer.get_training_transforms() for an isotropic network in three dimensions."""
    blur = GaussianBlurTransform(blur_sigma=(0.5, 1.0), synchronize_channels=False, synchronize_axes=False,
                                 p_per_channel=0.5, benchmark=True)
    low = SimulateLowResolutionTransform(scale=(0.5, 1), synchronize_channels=False, synchronize_axes=True,
                                         ignore_axes=None, allowed_channels=None, p_per_channel=0.5)
    parts = [
        (GaussianNoiseTransform(noise_variance=(0, 0.1), p_per_channel=1, synchronize_channels=True), 0.1),
        (blur, 0.2),
        (MultiplicativeBrightnessTransform(ABOUT_ONE, synchronize_channels=False, p_per_channel=1), 0.15),
        (ContrastTransform(ABOUT_ONE, preserve_range=True, synchronize_channels=False, p_per_channel=1), 0.15),
        (low, 0.25),
        (GammaTransform(GAMMA, p_invert_image=1, synchronize_channels=False, p_per_channel=1,
                        p_retain_stats=1), 0.1),
        (GammaTransform(GAMMA, p_invert_image=0, synchronize_channels=False, p_per_channel=1,
                        p_retain_stats=1), 0.3),
    ]
    return ComposeTransforms([spatial(patch, 0.2, 0)]
                             + [RandomTransform(part, apply_probability=p) for part, p in parts]
                             + [MirrorTransform((0, 1, 2)), RemoveLabelTansform(-1, 0)])


def surface(patch):
    return ComposeTransforms([
        spatial(patch, 1, 1),
        MirrorTransform((0, 1, 2)),
        GaussianNoiseTransform(noise_variance=(0, 0.1), p_per_channel=1, synchronize_channels=True),
        GammaTransform(GAMMA, p_invert_image=0, synchronize_channels=False, p_per_channel=1, p_retain_stats=1),
        RemoveLabelTansform(-1, 0)])


class Patches(DataLoader):
    """nnUNetDataLoader: a patch large enough to be turned, a third of them about a voxel of the label."""

    def __init__(self, args):
        super().__init__([0], args.batch, num_threads_in_multithreaded=args.threads, shuffle=True, infinite=True)
        self.folder, self.variant, self.batch = args.folder, args.variant, args.batch
        self.read = common.enlarged(args.patch)
        self.transforms = {"nnunet": nnunet, "surface": surface}[args.work](args.patch)
        self.boxes = None
        self.arrays = [np.load(args.folder / f"{name}.npy") for name in ("image", "label")]

    def case(self):
        if self.variant == "memory":
            return self.arrays
        settings = {"mode": "r", "mmap_mode": "r", "dparams": {"nthreads": 1}}
        return [blosc2.open(str(self.folder / f"{name}.b2nd"), **settings) for name in ("image", "label")]

    def generate_train_batch(self):
        if self.boxes is None:
            self.boxes = common.Boxes(self.arrays[1], self.read, self.thread_id)
        images, labels = [], []
        with torch.no_grad():
            for row in range(self.batch):
                image, label = self.case()
                begin = self.boxes.begin(row >= round(self.batch * (1 - 0.33)))
                made = self.transforms(
                    image=torch.from_numpy(common.cut(image, begin, self.read).astype(np.float32)),
                    segmentation=torch.from_numpy(common.cut(label, begin, self.read, -1).astype(np.int16)))
                images.append(made["image"])
                labels.append(made["segmentation"])
        return {"data": torch.stack(images), "target": torch.stack(labels)}


def main():
    args = common.arguments()
    torch.set_num_threads(1)
    loader = NonDetMultiThreadedAugmenter(Patches(args), None, args.threads, num_cached=args.threads,
                                          seeds=None, pin_memory=False)
    # Each process has one in the making, one in its queue and one in the common queue.
    common.serve(lambda: ((batch["data"], batch["target"]) for batch in loader), args, 3 * args.threads + 2)


if __name__ == "__main__":
    main()
