"""Writes the small files in data/ and, in data/expected.txt, what their own libraries read of them.

Needs nibabel, tifffile, imagecodecs and h5py:  python volume_files.py [folder]
A line: file dataset dtype c z y x scale offset, spacing z y x, 12 numbers of the affine, CRC-32 of
the stored voxels (c, z, y, x; little-endian).
"""
import gzip
import pathlib
import sys
import zlib

import h5py
import nibabel as nib
import numpy as np
import tifffile

OUT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "data")
LINES = []
SHAPE = (5, 6, 7)  # z, y, x


def voxels(shape, dtype, seed=1):
    """Not the same forwards and backwards along any axis, and with every byte in use."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return rng.normal(size=shape).astype(dtype)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, size=shape, dtype=dtype, endpoint=True)


def expect(name, stored, scale=1.0, offset=0.0, spacing=(1, 1, 1), affine=None, dataset="-"):
    stored = np.asarray(stored)
    stored = stored.reshape((1,) * (4 - stored.ndim) + stored.shape)
    affine = np.eye(4) if affine is None else np.asarray(affine, dtype=np.float64)
    little = np.ascontiguousarray(stored).astype(stored.dtype.newbyteorder("<"))
    numbers = [*stored.shape, scale, offset, *spacing, *affine[:3].ravel()]
    LINES.append(" ".join([name, dataset, stored.dtype.name, *(repr(float(n)) for n in numbers),
                           str(zlib.crc32(little.tobytes()))]))


# NIfTI ------------------------------------------------------------------------------------------


def expect_nifti(name):
    image = nib.load(OUT / name)
    raw = np.asarray(image.dataobj.get_unscaled())
    if raw.ndim == 5:
        raw = raw[:, :, :, 0]
    raw = raw.reshape(raw.shape + (1,) * (4 - raw.ndim))
    slope, inter = image.dataobj.slope, image.dataobj.inter
    zooms = [*image.header.get_zooms()[:3], 1, 1][:3]
    expect(name, raw.T, slope, inter, zooms[::-1], image.affine)


def header_of(kind, array, endian="<"):
    header = kind(endianness=endian)
    header.set_data_dtype(array.dtype.newbyteorder(endian))
    header.set_data_shape(array.T.shape)
    return header


def write_nifti(name, array, affine=None, change=lambda header: None, kind=nib.Nifti1Header,
                endian="<", image=nib.Nifti1Image):
    """As nibabel does, but for the header, which is written as it is after `change`."""
    header = header_of(kind, array, endian)
    change(header)
    packed = image(array.T, affine, header)
    packed.header["scl_slope"], packed.header["scl_inter"] = header["scl_slope"], header["scl_inter"]
    path = OUT / name
    nib.save(packed, path)
    whole = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
    start = (header if affine is None else packed.header).copy()
    start["vox_offset"] = kind.single_vox_offset
    start["magic"] = kind.single_magic
    whole = start.binaryblock + whole[len(start.binaryblock):]
    path.write_bytes(gzip.compress(whole, mtime=0) if name.endswith(".gz") else whole)
    read = np.asarray(nib.load(path).dataobj.get_unscaled())
    assert np.array_equal(read.ravel("F"), array.ravel()), name
    expect_nifti(name)


def nifti():
    oblique = nib.affines.from_matvec(
        nib.quaternions.quat2mat([0.8, 0.1, -0.3, 0.5]) @ np.diag([-0.5, 0.75, 2.5]), [10, -20, 30])
    types = ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"]
    for number, code in enumerate(types):
        array = voxels(SHAPE, code)
        for endian, order in (("<", "little"), (">", "big")):
            write_nifti(f"n1-{code}-{order}.nii", array, oblique, endian=endian)
        write_nifti(f"n2-{code}.nii" + (".gz" if number % 2 else ""), array, oblique,
                    kind=nib.Nifti2Header, image=nib.Nifti2Image, endian="><"[number % 2])
    array = voxels(SHAPE, "i2")
    write_nifti("n1-big.nii.gz", array, oblique, endian=">")
    write_nifti("plane.nii", voxels((6, 7), "u1"))
    write_nifti("time.nii", voxels((3, *SHAPE), "i2"), oblique)
    write_nifti("time.nii.gz", voxels((3, *SHAPE), "i2"), oblique)
    write_nifti("vector.nii", voxels((3, 1, *SHAPE), "f4"), oblique)

    def scaled(slope, inter):
        def change(header):
            header["scl_slope"], header["scl_inter"] = slope, inter
        return change

    write_nifti("scaled.nii", array, change=scaled(0.5, -1024))
    write_nifti("slope-0.nii", array, change=scaled(0, 7))
    write_nifti("slope-nan.nii", array, change=scaled(np.nan, 7))

    def placed(code_s, code_q, pixdim):
        def change(header):
            header["pixdim"][:4] = pixdim
            header["sform_code"], header["qform_code"] = code_s, code_q
            header["quatern_b"], header["quatern_c"], header["quatern_d"] = 0.1, -0.3, 0.5
            header["qoffset_x"], header["qoffset_y"], header["qoffset_z"] = 4, 5, 6
            header["srow_x"], header["srow_y"], header["srow_z"] = oblique[:3]
        return change

    write_nifti("place-none.nii", array, change=placed(0, 0, [1, 0.5, 0.75, 2.5]))
    write_nifti("place-q.nii", array, change=placed(0, 1, [1, 0.5, 0.75, 2.5]))
    write_nifti("place-q-flip.nii", array, change=placed(0, 1, [-1, 0.5, 0.75, 2.5]))
    write_nifti("place-s.nii", array, change=placed(2, 1, [1, 0.5, 0.75, 2.5]))
    write_nifti("place-zero.nii", array, change=placed(0, 1, [0, 0, -0.75, 2.5]))
    write_nifti("place-code.nii", array, change=placed(9, 1, [1, 0.5, 0.75, 2.5]))
    nib.save(nib.Nifti1Pair(array.T, oblique), OUT / "pair.img")
    expect_nifti("pair.img")
    nib.save(nib.Nifti1Pair(array.T, oblique), OUT / "packed-pair.hdr.gz")
    for part in ("hdr", "img"):
        path = OUT / f"packed-pair.{part}.gz"
        path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), mtime=0))
    expect_nifti("packed-pair.hdr.gz")
    whole = (OUT / "n1-u2-little.nii").read_bytes()
    (OUT / "members.nii.gz").write_bytes(
        b"".join(gzip.compress(whole[i:i + 300], mtime=0) for i in range(0, len(whole), 300))
        + bytes(9))
    expect_nifti("members.nii.gz")


nifti()
(OUT / "expected.txt").write_text("\n".join(LINES) + "\n")
