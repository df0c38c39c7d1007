#!/usr/bin/env python3
"""Writes data/nnunet_fingerprint.json: what nnU-Net's own extractor finds in the data set that nnunet_raw_files.h makes,
too. Run once with SimpleITK 2.5.7, numpy 2.4.6 and nnunetv2 2.8.1; run it from this folder."""
import json
import os
import tempfile
from pathlib import Path

import SimpleITK as sitk

folder = Path(tempfile.mkdtemp())
os.environ.update(nnUNet_raw=str(folder / "raw"), nnUNet_preprocessed=str(folder / "preprocessed"),
                  nnUNet_results=str(folder / "results"))

from nnunetv2.experiment_planning.dataset_fingerprint.fingerprint_extractor import DatasetFingerprintExtractor

from nnunet_raw_voxels import voxels


def write(array, name, spacing):
    image = sitk.GetImageFromArray(array)
    image.SetSpacing(spacing[::-1])
    sitk.WriteImage(image, str(name))


if __name__ == "__main__":
    data = folder / "raw" / "Dataset001_Made"
    for part in ["imagesTr", "labelsTr"]:
        (data / part).mkdir(parents=True)
    for case in range(4):
        spacing = (2.5 + case, 0.75, 0.8)
        first, second, label = voxels(case)
        write(first, data / "imagesTr" / f"case{case}_0000.nii.gz", spacing)
        write(second, data / "imagesTr" / f"case{case}_0001.nii.gz", spacing)
        write(label, data / "labelsTr" / f"case{case}.nii.gz", spacing)
    (data / "dataset.json").write_text(json.dumps({
        "channel_names": {"0": "CT", "1": "PET"}, "labels": {"background": 0, "organ": 1, "tumour": 2},
        "numTraining": 4, "file_ending": ".nii.gz"}))
    fingerprint = DatasetFingerprintExtractor(1, num_processes=1).run(overwrite_existing=True)
    stored = json.loads((folder / "preprocessed" / "Dataset001_Made" / "dataset_fingerprint.json").read_text())
    Path("data/nnunet_fingerprint.json").write_text(json.dumps(stored) + "\n")
