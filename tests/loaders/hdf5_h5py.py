"""Files as h5py and hdf5plugin write them, for hdf5_h5py_test.cpp: every dataset of matrix.h5 and, as
<name>.raw, the bytes that the library reads back. Usage: hdf5_h5py.py FOLDER"""
import os
import sys

import h5py
import hdf5plugin
import numpy as np

TYPES = ["u1", "i1", "<u2", ">i2", "<f2", ">f2", "<f4", ">f8", "<i8", "?"]
SHAPES = [((70, 10), (16, 10)), ((70, 10), (8, 3)), ((33, 6, 9), (6, 4, 5)), ((100,), (9,))]
FILTERS = {
    "none": {},
    "gzip": dict(compression="gzip"),
    "gzip_shuffle": dict(compression="gzip", shuffle=True),
    "gzip_shuffle_sum": dict(compression="gzip", shuffle=True, fletcher32=True),
    "sum": dict(fletcher32=True),
    "lzf": dict(compression="lzf"),
    "lzf_shuffle": dict(compression="lzf", shuffle=True),
    "lz4": dict(hdf5plugin.LZ4()),
    "lz4_blocks": dict(hdf5plugin.LZ4(nbytes=128)),
    "zstd": dict(hdf5plugin.Zstd()),
    "zstd_shuffle": dict(hdf5plugin.Zstd(), shuffle=True),
    "bitshuffle": dict(hdf5plugin.Bitshuffle(cname="none")),
    "bitshuffle_lz4": dict(hdf5plugin.Bitshuffle(cname="lz4")),
    "bitshuffle_zstd": dict(hdf5plugin.Bitshuffle(cname="zstd")),
}


def main(folder):
    random = np.random.default_rng(1)
    for version in ("earliest", "v110"):
        with h5py.File(os.path.join(folder, version + ".h5"), "w", libver=version,
                       userblock_size=512 if version == "v110" else 0) as file:
            for kind in TYPES:
                for number, (shape, chunk) in enumerate(SHAPES):
                    for name, how in FILTERS.items():
                        data = (random.integers(0, 60, shape) - 20).astype(kind)
                        full = "%s_%d_%s" % (np.dtype(kind).str.strip("<>|") + kind[0].strip("?<"),
                                             number, name)
                        full = full.replace(">", "be")
                        made = file.create_dataset(full, shape, kind, chunks=chunk, fillvalue=1,
                                                   **how)
                        half = shape[0] // 2  # the rest is never written
                        made[:half] = data[:half]
        with h5py.File(os.path.join(folder, version + ".h5")) as file:
            for name, made in file.items():
                got = made[...]
                got = got.astype(got.dtype.newbyteorder("<"))
                got.tofile(os.path.join(folder, version + "-" + name + ".raw"))


if __name__ == "__main__":
    main(sys.argv[1])
