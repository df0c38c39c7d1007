"""What batchgeneratorsv2, SciPy and scikit-image take for what main.cpp does: milliseconds on one thread."""
import time

import numpy as np
import torch
from batchgeneratorsv2.transforms.intensity.brightness import MultiplicativeBrightnessTransform
from batchgeneratorsv2.transforms.intensity.contrast import BGContrast, ContrastTransform
from batchgeneratorsv2.transforms.intensity.gamma import GammaTransform
from batchgeneratorsv2.transforms.intensity.gaussian_noise import GaussianNoiseTransform
from batchgeneratorsv2.transforms.noise.gaussian_blur import GaussianBlurTransform
from batchgeneratorsv2.transforms.spatial.low_resolution import SimulateLowResolutionTransform
from batchgeneratorsv2.transforms.utils.deep_supervision_downsampling import DownsampleSegForDSTransform
from scipy.ndimage import distance_transform_edt
from skimage.morphology import skeletonize

torch.set_num_threads(1)
image = torch.randn(1, 72, 136, 136)
z, y, x = np.mgrid[:72, :136, :136]
surface = np.abs(z - 36 - 12 * np.sin(x / 25) * np.cos(y / 20)) < 1.5
label = torch.tensor(surface.astype(np.int16))[None]
about = BGContrast((0.75, 1.25))


def on_image(transform):
    return lambda: transform(image=image)


def report(name, work, rounds=21):
    for _ in range(12):  # the blur looks for its best way first
        if rounds > 5:
            work()
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        taken.append((time.perf_counter() - start) * 1e3)
    print(f"{name:20s} {np.median(taken):8.2f} ms")


report("noise", on_image(GaussianNoiseTransform((0, 0.1), 1, True)))
report("blur", on_image(GaussianBlurTransform((0.5, 1.0), p_per_channel=1, benchmark=True)))
report("brightness", on_image(MultiplicativeBrightnessTransform(about, False)))
report("contrast", on_image(ContrastTransform(about, True, False)))
report("low resolution", on_image(SimulateLowResolutionTransform((0.5, 1), False, True, None)))
report("gamma", on_image(GammaTransform(BGContrast((0.7, 1.5)), 0, False, 1, 1)))
report("distance", lambda: distance_transform_edt(~surface), 5)
report("skeleton", lambda: skeletonize(surface, method="lee"), 5)
report("targets, nearest", lambda: DownsampleSegForDSTransform((0.5, 0.25, 0.125))(segmentation=label))
