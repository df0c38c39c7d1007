"""Writes the volumes of a folder in the formats that are read: large.zarr, large.b2nd, large.h5; and
image.npy, label.npy, image.b2nd, label.b2nd, as nnU-Net keeps its cases."""

import math
import sys
from pathlib import Path

import blosc2
import h5py
import nibabel
import numpy as np
import zarr
from zarr.codecs import ZstdCodec


def voxels(path):
    """Axes z, y, x."""
    return np.ascontiguousarray(np.asarray(nibabel.load(path).dataobj).T)


def normalised(values):
    """As nnU-Net keeps an image: float32 [1, z, y, x]."""
    values = values.astype(np.float32)
    return ((values - values.mean()) / values.std())[None]


def blocks_of(shape, patch, voxel_bytes):
    """nnU-Net's rule: blocks of powers of two about a patch, of at most 128 KiB; chunks of whole blocks,
    of at most 6 MiB and 1.5 patches an axis."""
    block = [2 ** math.ceil(math.log2(extent)) for extent in patch]
    while math.prod(block) * voxel_bytes > 128 * 1024:
        axis = max((i for i in range(3) if block[i] > 1), key=lambda i: block[i] / patch[i])
        block[axis] //= 2
    block = [min(b, extent) for b, extent in zip(block, shape)]
    chunk = list(block)
    while True:
        room = [i for i in range(3) if chunk[i] < shape[i] and chunk[i] + block[i] <= 1.5 * patch[i]]
        if not room:
            break
        axis = min(room, key=lambda i: chunk[i] / block[i])
        larger = [min(c + b, extent) if i == axis else c
                  for i, (c, b, extent) in enumerate(zip(chunk, block, shape))]
        if math.prod(larger) * voxel_bytes > 6 * 2**20:
            break
        chunk = larger
    return (1, *block), (1, *chunk)


def write_b2nd(path, values, patch=(72, 136, 136)):
    if path.exists():
        return
    block, chunk = blocks_of(values.shape[1:], patch, values.itemsize)
    blosc2.asarray(values, urlpath=str(path), chunks=chunk, blocks=block,
                   cparams={"codec": blosc2.Codec.LZ4HC, "clevel": 5, "filters": [blosc2.Filter.SHUFFLE]})


def write_zarr(path, values):
    if path.exists():
        return
    array = zarr.create_array(store=path, shape=values.shape, shards=(256, 256, 256), chunks=(64, 64, 64),
                              dtype=values.dtype, compressors=ZstdCodec(level=3))
    array[...] = values


def write_hdf5(path, values):
    if path.exists():
        return
    with h5py.File(path, "w") as file:
        file.create_dataset("volume", data=values, chunks=(64, 64, 64), compression="gzip")


def main():
    folder = Path(sys.argv[1])
    image, label, large = (voxels(folder / f"{name}.nii") for name in ("image", "label", "large"))
    np.save(folder / "image.npy", normalised(image))
    np.save(folder / "label.npy", label[None].astype(np.int16))
    write_b2nd(folder / "image.b2nd", normalised(image))
    write_b2nd(folder / "label.b2nd", label[None].astype(np.int8))
    write_b2nd(folder / "large.b2nd", normalised(large))
    write_zarr(folder / "large.zarr", large)
    write_hdf5(folder / "large.h5", large)


if __name__ == "__main__":
    main()
