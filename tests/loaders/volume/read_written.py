"""Whether nibabel and tifffile read the volumes that volume_writer_test.cpp wrote into a folder."""
import pathlib
import sys

import nibabel as nib
import numpy as np
import tifffile

files = sorted(pathlib.Path(sys.argv[1]).glob("*.raw"))
assert len(files) == 10
for raw in files:
    voxels = np.fromfile(raw, raw.stem).reshape(3, 4, 5, 6)  # c, z, y, x
    image = nib.load(raw.with_suffix(".nii.gz"))
    assert np.array_equal(np.asarray(image.dataobj.get_unscaled()).T, voxels, equal_nan=True), raw
    assert np.allclose(image.header.get_zooms(), (0.3, 0.75, 2.5, 1)), raw
    assert np.allclose(image.affine, np.diag([0.3, 0.75, 2.5, 1])), raw
    with tifffile.TiffFile(raw.with_suffix(".tif")) as file:
        assert file.is_imagej and file.imagej_metadata["spacing"] == 2.5, raw
        series = file.series[0]
        read = series.asarray()
        assert series.axes == "ZCYX", series.axes
        assert read.dtype == voxels.dtype and read.tobytes() == voxels.swapaxes(0, 1).tobytes(), raw
