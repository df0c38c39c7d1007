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
SMALL = (3, 5, 6)


def voxels(shape, dtype, seed=1):
    """Not the same forwards and backwards along any axis, and with every byte in use."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return rng.normal(size=shape).astype(dtype)
    info = np.iinfo(dtype)
    native = dtype.newbyteorder("=")
    return rng.integers(info.min, info.max, size=shape, dtype=native, endpoint=True).astype(dtype)


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

    # nibabel leaves units alone.
    for name, code, factor in [("units-m", 1, 1e3), ("units-um", 3, 1e-3)]:
        for kind in (nib.Nifti1Header, nib.Nifti2Header):
            for codes in [(2, 1), (0, 1)]:
                def change(header):
                    placed(*codes, [1, 0.5, 0.75, 2.5])(header)
                    header["xyzt_units"] = code | 8
                version = 1 if kind is nib.Nifti1Header else 2
                write_nifti(f"{name}-{version}-{sum(codes)}.nii", voxels(SMALL, "u1"), None, change,
                            kind, image=[nib.Nifti1Image, nib.Nifti2Image][version - 1])
                words = LINES[-1].split()
                lengths = [float(word) * factor for word in words[9:24]]
                LINES[-1] = " ".join([*words[:9], *map(repr, lengths), *words[24:]])

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


# TIFF -------------------------------------------------------------------------------------------


def expect_tiff(name, array, spacing=(1, 1, 1)):
    read = np.stack([page.asarray() for page in tifffile.TiffFile(OUT / name).pages
                     if not page.is_reduced])
    assert np.array_equal(read.ravel(), array.ravel()) or "jpeg" in name, name
    if "jpeg" in name:
        array = read
    expect(name, array, spacing=spacing, affine=np.diag([*spacing[::-1], 1]))


def write_tiff(name, array, **options):
    options.setdefault("photometric", "minisblack")
    tifffile.imwrite(OUT / name, array, software=False, metadata=None, **options)
    expect_tiff(name, array)


def described(stack):
    """Stacks of slices and channels as tifffile itself and OME-TIFF describe them."""
    lengths = {f"PhysicalSize{axis}": size for axis, size in zip("XYZ", (0.25, 0.5, 3.5))}
    spacing = (3.5e-3, 0.5e-3, 0.25e-3)
    for order in ["CZ", "ZC"]:
        part = stack.transpose(1, 0, 2, 3) if order == "CZ" else stack
        for unit in ["", "nm"] if order == "CZ" else [""]:
            name = f"ome-{order}{unit}.tif".lower()
            units = {f"PhysicalSize{axis}Unit": unit for axis in "XYZ"} if unit else {}
            tifffile.imwrite(OUT / name, part, ome=True, software=False, metadata={
                "axes": order + "YX", "UUID": "urn:uuid:0", **lengths, **units})
            read = tifffile.TiffFile(OUT / name).series[0]
            assert read.axes == order + "YX" and np.array_equal(read.asarray(), part), name
            steps = np.array(spacing) * (1e-3 if unit else 1)
            expect(name, stack.transpose(1, 0, 2, 3), spacing=steps,
                   affine=np.diag([*steps[::-1], 1]))
        tifffile.imwrite(OUT / f"shaped-{order}.tif".lower(), part, software=False,
                         photometric="minisblack", metadata={"axes": order + "YX"})
        expect(f"shaped-{order}.tif".lower(), stack.transpose(1, 0, 2, 3))
    plain = dict(software=False, metadata=None, photometric="minisblack")
    tifffile.imwrite(OUT / "refused-depth.tif", stack[:, 0], volumetric=True, tile=(4, 16, 16), **plain)
    for name, tag in [("stk", (33629, 4, 4, (0,) * 4, False)),
                      ("lsm", (34412, 1, 28, bytes(24) + b"\2\0\0\0", False))]:
        tifffile.imwrite(OUT / f"refused-{name}.tif", stack[0, 0], extratags=[tag], **plain)
    array = stack.transpose(1, 0, 2, 3)
    for name, part in [("truncated.tif", array[0]), ("truncated-channels.tif", array)]:
        tifffile.imwrite(OUT / name, part, truncate=True, software=False, photometric="minisblack")
        with tifffile.TiffFile(OUT / name) as file:
            assert len(file.pages) == 1 and np.array_equal(file.asarray(), part)
        expect(name, part)


def tiff():
    for code in ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"]:
        write_tiff(f"plain-{code}.tif", voxels(SMALL, code))
        if code in ("u2", "i4", "f4", "u8"):
            write_tiff(f"plain-{code}-big.tif", voxels(SMALL, code), byteorder=">", bigtiff=True)
        write_tiff(f"deflate-{code}.tif", voxels(SMALL, code), compression="zlib",
                   predictor=code not in ("u8", "i8"), byteorder="<>"[code == "i2"])
    ramp = (np.arange(2 * 40 * 50).reshape(2, 40, 50) % 251 // 3).astype("u1")
    for packing in ["lzw", "packbits", "lzma", "zstd", "lerc", "jpeg"]:
        write_tiff(f"strips-{packing}.tif", ramp, compression=packing, rowsperstrip=16)
    for packing in [None, "zlib", "lzw", "zstd"]:
        wide = ramp if packing is None else ramp.astype("u2") * 77
        write_tiff(f"tiles-{packing}.tif", wide, compression=packing, tile=(16, 32), bigtiff=packing == "lzw", byteorder="<>"[packing == "zstd"])
    write_tiff("rows.tif", ramp[:, :20, :30].astype("u2") * 77, rowsperstrip=3, byteorder=">")
    write_tiff("white.tif", ramp, photometric="miniswhite", compression="zlib")
    write_tiff("palette.tif", ramp, photometric="palette", compression="zlib",
               colormap=voxels((3, 256), "u2"))
    with tifffile.TiffWriter(OUT / "thumbnails.tif") as out:
        for page in ramp:
            out.write(page, compression="zlib", metadata=None, software=False)
            out.write(page[::2, ::2], subfiletype=1, metadata=None, software=False)
    expect_tiff("thumbnails.tif", ramp)
    stack = voxels((2, 4, 3, *SMALL[1:]), "u2")  # frames, slices, channels
    imagej = dict(imagej=True, resolution=(4, 2), software=False)
    for name, part, axes in [("imagej.tif", stack[0, :, 0], "ZYX"),
                             ("imagej-channels.tif", stack[0], "ZCYX"),
                             ("imagej-frames.tif", stack[:, :, 0], "TZYX"),
                             ("imagej-both.tif", stack, "TZCYX")]:
        tifffile.imwrite(OUT / name, part, metadata={"axes": axes, "spacing": 3.5, "unit": "um"},
                         **imagej)
        read = tifffile.TiffFile(OUT / name).series[0]
        assert read.axes == axes and np.array_equal(read.asarray(), part), name
        if "T" in axes:  # these are refused
            continue
        expect(name, part.transpose(1, 0, 2, 3) if "C" in axes else part, spacing=(3.5e-3, 0.5e-3, 0.25e-3),
               affine=np.diag([0.25e-3, 0.5e-3, 3.5e-3, 1]))
    described(stack[0])
    whole = bytearray((OUT / "imagej.tif").read_bytes())
    with tifffile.TiffFile(OUT / "imagej.tif") as file:
        first = file.pages[0]
        at = first.offset + 2 + 12 * len(first.tags)
        assert [page.dataoffsets[0] - first.dataoffsets[0] for page in file.pages] == [
            60 * i for i in range(4)]
    whole[at:at + 4] = bytes(4)
    (OUT / "imagej-one-directory.tif").write_bytes(whole)
    with tifffile.TiffFile(OUT / "imagej-one-directory.tif") as file:
        assert len(file.pages) == 1
        expect("imagej-one-directory.tif", file.series[0].asarray(),
               spacing=(3.5e-3, 0.5e-3, 0.25e-3), affine=np.diag([0.25e-3, 0.5e-3, 3.5e-3, 1]))
    folder = OUT / "slices"
    folder.mkdir(exist_ok=True)
    array = voxels((11, 6, 7), "i2")
    for z, plane in enumerate(array):
        tifffile.imwrite(folder / f"slice{z + 1}.tif", plane, metadata=None, software=False,
                         compression="zlib" if z % 2 else None)
    expect("slices", array)


# HDF5 -------------------------------------------------------------------------------------------


def hdf5():
    with h5py.File(OUT / "volumes.h5", "w", libver=("v108", "v110")) as out:
        def add(name, array, **options):
            out.create_dataset(name, data=array, **options)

        add("piece", voxels(SMALL, "f4"))
        add("piece-big", voxels(SMALL, ">i2"))
        add("plane", voxels((5, 6), "u1"), chunks=(2, 4))
        add("channels", voxels((2, *SMALL), "u2"), chunks=(1, 2, 2, 4), compression="gzip",
            shuffle=True)
        add("ones", voxels((1, 2, *SMALL), ">f8"), chunks=(1, 2, 2, 2, 4), compression="lzf")
        add("longer", voxels((1, 2, *SMALL), "i4"), maxshape=(None,) * 5, chunks=(3, 1, 2, 4, 4),
            compression="gzip", fletcher32=True)
        add("rare", voxels(SMALL, "i2"), chunks=(2, 4, 4), scaleoffset=True)
        add("rare-channels", voxels((2, *SMALL), "i2"), chunks=(1, 2, 4, 4), scaleoffset=True)
        compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)
        array = voxels((5, 6), "u2")
        h5py.h5d.create(out.id, b"compact", h5py.h5t.STD_U16LE, h5py.h5s.create_simple((5, 6)),
                        compact).write(h5py.h5s.ALL, h5py.h5s.ALL, array)
        sparse = out.create_dataset("sparse", SMALL, "u2", chunks=(1, 4, 4), fillvalue=7)
        sparse[1] = voxels((5, 6), "u2")
        add("spaced", voxels(SMALL, "u1"), chunks=(3, 5, 6))
        out["spaced"].attrs["element_size_um"] = np.array([4.0, 0.5, 0.25])
    with h5py.File(OUT / "volumes.h5") as file:
        for name, data in file.items():
            array = data[()]
            array = array.reshape(array.shape[-4:])
            spacing = np.array(data.attrs.get("element_size_um", [1000.0] * 3)) / 1000
            expect("volumes.h5", array, spacing=spacing, affine=np.diag([*spacing[::-1], 1]),
                   dataset="/" + name)
    with h5py.File(OUT / "single.h5", "w", libver=("v108", "v110")) as out:
        out.create_dataset("group/raw", data=voxels(SMALL, "u1"))
        expect("single.h5", out["group/raw"][()])
    with h5py.File(OUT / "whole-lengths.h5", "w", libver=("v108", "v110")) as out:
        array = voxels((5, 6), "u1")
        out.create_dataset("raw", data=array).attrs["element_size_um"] = np.array([4, 2, 1], ">i4")
        expect("whole-lengths.h5", array, spacing=(4e-3, 2e-3, 1e-3),
               affine=np.diag([1e-3, 2e-3, 4e-3, 1]))


nifti()
tiff()
hdf5()
(OUT / "expected.txt").write_text("\n".join(LINES) + "\n")
