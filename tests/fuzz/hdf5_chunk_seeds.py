"""Seeds of hdf5_chunk: chunks as h5py and hdf5plugin store them, in the input form of
hdf5_chunk_target.cpp. Run once: python hdf5_chunk_seeds.py corpus/hdf5_chunk"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "loaders"))

import h5py  # noqa: E402
import numpy as np  # noqa: E402
from hdf5_filters import CASES  # noqa: E402

KINDS = [1, 2, 3, 32000, 32004, 32008, 32015]


def seed(filters, mask, size, stored):
    out = bytes([len(filters)])
    for code, values in filters:
        values = list(values)[:6]
        out += bytes([KINDS.index(code), len(values)])
        out += b"".join(int(v).to_bytes(4, "little") for v in values)
    return out + mask.to_bytes(4, "little") + size.to_bytes(4, "little") + stored


def main(folder):
    path = os.path.join(tempfile.mkdtemp(), "x.h5")
    for name, dtype, count, make, how in CASES:
        count = min(count, 777)
        with h5py.File(path, "w") as file:
            made = file.create_dataset("x", data=make("<" + dtype, count), chunks=(count,), **how)
            plist = made.id.get_create_plist()
            filters = [plist.get_filter(i) for i in range(plist.get_nfilters())]
            mask, stored = made.id.read_direct_chunk((0,))
        bytes_ = seed([(f[0], f[2]) for f in filters], mask, count * np.dtype(dtype).itemsize,
                      stored)
        lines = [bytes_.hex()[i:i + 96] for i in range(0, 2 * len(bytes_), 96)]
        file_name = name.replace(" ", "_").replace(",", "") + ".hex"
        with open(os.path.join(folder, file_name), "w") as to:
            to.write("# %s, %d elements of %s\n%s\n" % (name, count, dtype, "\n".join(lines)))


if __name__ == "__main__":
    main(sys.argv[1])
