"""Chunks as h5py and hdf5plugin store them, for hdf5_codec_test.cpp. Run once:

    pip install h5py==3.16.0 hdf5plugin==7.1.0 numpy && python hdf5_filters.py > hdf5_filters.inc
"""
import os
import sys
import tempfile

import h5py
import hdf5plugin
import numpy as np


def values(dtype, count):
    """The same numbers as in the test: 3 (i / 9), modulo the type."""
    i = np.arange(count, dtype=np.uint64)
    return (i // 9 * 3).astype(dtype)


def noise(dtype, count):
    """As noise() of hdf5_files.h."""
    state = 88172645463325252
    mask = (1 << 64) - 1
    out = bytearray()
    for _ in range(count * np.dtype(dtype).itemsize):
        state = (state ^ (state << 13)) & mask
        state ^= state >> 7
        state = (state ^ (state << 17)) & mask
        out.append((state >> 24) & 255)
    return np.frombuffer(bytes(out), dtype)


CASES = [
    ("lzf", "u4", 1500, values, dict(compression="lzf")),
    ("shuffle and lzf", "u4", 1500, values, dict(compression="lzf", shuffle=True)),
    ("lzf of noise is skipped", "u1", 300, noise, dict(compression="lzf")),
    ("deflate", "u2", 900, values, dict(compression="gzip")),
    ("shuffle, deflate, checksum", "u8", 700, values,
     dict(compression="gzip", shuffle=True, fletcher32=True)),
    ("checksum of odd bytes", "u1", 301, noise, dict(fletcher32=True)),
    ("lz4", "u2", 3000, values, dict(hdf5plugin.LZ4())),
    ("lz4 in blocks of 1000 bytes", "u4", 1111, values, dict(hdf5plugin.LZ4(nbytes=1000))),
    ("lz4 of noise", "u1", 400, noise, dict(hdf5plugin.LZ4())),
    ("zstd", "u4", 2000, values, dict(hdf5plugin.Zstd())),
    ("shuffle and zstd", "u8", 1000, values, dict(hdf5plugin.Zstd(clevel=7), shuffle=True)),
    ("bitshuffle alone", "u4", 303, values, dict(hdf5plugin.Bitshuffle(cname="none"))),
    ("bitshuffle and lz4", "u2", 9003, values, dict(hdf5plugin.Bitshuffle(cname="lz4"))),
    ("bitshuffle and lz4, one byte", "u1", 5000, values, dict(hdf5plugin.Bitshuffle(cname="lz4"))),
    ("bitshuffle and lz4, blocks of 64", "u4", 1001, values,
     dict(hdf5plugin.Bitshuffle(nelems=64, cname="lz4"))),
    ("bitshuffle and zstd", "u8", 2050, values,
     dict(hdf5plugin.Bitshuffle(cname="zstd", clevel=3))),
    ("bitshuffle of less than eight", "u4", 5, values, dict(hdf5plugin.Bitshuffle(cname="lz4"))),
]


def main():
    print("// Made by hdf5_filters.py with h5py", h5py.__version__, "and hdf5plugin",
          hdf5plugin.version)
    path = os.path.join(tempfile.mkdtemp(), "x.h5")
    for name, dtype, count, make, how in CASES:
        data = make("<" + dtype, count)
        with h5py.File(path, "w") as file:
            made = file.create_dataset("x", data=data, chunks=(count,), **how)
            plist = made.id.get_create_plist()
            filters = [plist.get_filter(i) for i in range(plist.get_nfilters())]
            mask, stored = made.id.read_direct_chunk((0,))
        pipeline = ", ".join("{%d, {%s}}" % (f[0], ", ".join(map(str, f[2]))) for f in filters)
        kind = "true" if make is noise else "false"
        lines = [stored.hex()[i:i + 96] for i in range(0, 2 * len(stored), 96)]
        print('{"%s", %s, %d, %d, {%s}, %d,' % (name, kind, np.dtype(dtype).itemsize, count,
                                                pipeline, mask))
        print("\n".join(' "%s"' % line for line in lines) + "},")
    os.remove(path)


if __name__ == "__main__":
    sys.exit(main())
