#!/usr/bin/env python3
"""Writes data/nnunet_plans.json: made-up fingerprints of data sets, and what nnU-Net's own planner plans for them.
Run once with torch 2.11.0, dynamic-network-architectures 0.4.4 and nnunetv2 2.8.1; run it from this folder."""
import json
import os
import tempfile
from pathlib import Path

import numpy as np

folder = Path(tempfile.mkdtemp())
os.environ.update(nnUNet_raw=str(folder / "raw"), nnUNet_preprocessed=str(folder / "preprocessed"),
                  nnUNet_results=str(folder / "results"))

from nnunetv2.experiment_planning.experiment_planners.default_experiment_planner import ExperimentPlanner

KEPT = ["batch_size", "patch_size", "median_image_size_in_voxels", "spacing", "normalization_schemes",
        "use_mask_for_norm", "batch_dice"]
KEPT_NETWORK = ["n_stages", "features_per_stage", "strides", "kernel_sizes", "n_conv_per_stage",
                "n_conv_per_stage_decoder"]


def spread(seed, cases, shape, spacing, shape_by=0.15, spacing_by=0.0, axes=(0, 1, 2)):
    """Shapes and spacings around the given ones, uneven as those of clinics are."""
    random = np.random.RandomState(seed)
    shapes, spacings = [], []
    for _ in range(cases):
        shapes.append([max(1, int(round(n * (1 + shape_by * random.uniform(-1, 1)) if i in axes else n)))
                       for i, n in enumerate(shape)])
        spacings.append([round(s * (1 + spacing_by * random.uniform(-1, 1)) if i in axes else s, 4)
                         for i, s in enumerate(spacing)])
    return shapes, spacings


def plan(number, name, channels, labels, shapes, spacings, relative_size=1.0, gpu=8):
    name = f"Dataset{number:03d}_{name}"
    dataset = {"channel_names": {str(i): c for i, c in enumerate(channels)},
               "labels": {"background": 0, **{f"class{i}": i for i in range(1, labels)}},
               "numTraining": len(shapes), "file_ending": ".nii.gz", "overwrite_image_reader_writer": "SimpleITKIO",
               "dataset": {"a": {"images": ["a_0000.nii.gz"], "label": "a.nii.gz"}}}
    fingerprint = {"spacings": spacings, "shapes_after_crop": shapes,
                   "median_relative_size_after_cropping": relative_size,
                   "foreground_intensity_properties_per_channel": {}}
    for top, file, content in [("raw", "dataset.json", dataset),
                               ("preprocessed", "dataset_fingerprint.json", fingerprint)]:
        (folder / top / name).mkdir(parents=True)
        (folder / top / name / file).write_text(json.dumps(content))
    ExperimentPlanner(name, gpu_memory_target_in_gb=gpu).plan_experiment()
    plans = json.loads((folder / "preprocessed" / name / "nnUNetPlans.json").read_text())
    configurations = {}
    for key, c in plans["configurations"].items():
        if key == "3d_cascade_fullres":
            continue
        network = c["architecture"]["arch_kwargs"]
        configurations[key] = {**{k: c[k] for k in KEPT}, **{k: network[k] for k in KEPT_NETWORK}}
    del fingerprint["foreground_intensity_properties_per_channel"]
    return {"name": name, "channel_names": channels, "labels": labels, "gpu_memory_gb": gpu,
            "fingerprint": fingerprint,
            "plans": {**{k: plans[k] for k in ["original_median_spacing_after_transp",
                                               "original_median_shape_after_transp", "transpose_forward",
                                               "transpose_backward"]}, "configurations": configurations}}


made = [
    plan(1, "SmallIsotropicMri", ["MRI"], 3, *spread(1, 40, (36, 50, 35), (1, 1, 1))),
    plan(2, "AnisotropicMri", ["T2", "ADC"], 3, *spread(2, 24, (20, 320, 320), (5, 0.7, 0.7), 0.2, 0.2)),
    plan(3, "LargeCt", ["CT"], 3, *spread(3, 41, (400, 512, 512), (1.2, 0.78, 0.78), 0.3, 0.2)),
    plan(4, "Brain", ["T1", "T1ce", "T2", "FLAIR"], 5, *spread(4, 32, (139, 171, 137), (1, 1, 1), 0.08), 0.41),
    plan(5, "Sagittal", ["ct", "noNorm", "rescale_to_0_1", "rgb_to_0_1", "ZScore", "other"], 2,
         *spread(5, 15, (320, 310, 22), (0.5, 0.5, 4), 0.1, 0.1), 0.7),
    plan(6, "Pictures", ["rgb_to_0_1"], 2, *spread(6, 20, (1, 900, 700), (999, 1, 1), 0.2, axes=(1, 2))),
    plan(7, "ThinSlicesAmongThick", ["CT"], 4,
         [[30, 400, 420]] * 9 + [[300, 410, 400]] * 3, [[5.0, 0.8, 0.8]] * 9 + [[0.5, 0.7, 0.75]] * 3),
    plan(8, "Heart", ["cine MRI"], 4, *spread(8, 30, (10, 237, 208), (10, 1.5625, 1.5625), 0.1, 0.25)),
    plan(9, "FewLargeCubes", ["zscore"], 2, *spread(9, 4, (512, 512, 512), (0.05, 0.05, 0.05), 0.0)),
    plan(10, "LargeAnisotropicCt", ["CT"], 2, *spread(10, 21, (180, 512, 512), (3, 0.8, 0.8), 0.2, 0.2)),
    plan(11, "MoreMemory", ["CT"], 3, *spread(11, 17, (260, 400, 400), (1.5, 0.8, 0.8), 0.2, 0.2), gpu=24),
    plan(12, "TinyTies", ["MRI"], 2, *spread(12, 60, (32, 32, 32), (2, 2, 2), 0.0)),
]
text = json.dumps(made)
Path("data/nnunet_plans.json").write_text(text.replace('}, {"name"', '},\n{"name"') + "\n")
