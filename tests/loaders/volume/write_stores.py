#!/usr/bin/env python3
"""Writes data_stores/zarr.pack.gz and b2nd.pack.gz, what volume_stores compares with: arrays written by zarr-python and
python-blosc2. Needs zarr==3.1.6 numcodecs==0.16.6 blosc2==4.14.1 numpy==2.4.6; run it from this folder.

A pack is, behind gzip, a run of files: length of the name (4 bytes, little-endian), of the content (4), name, content. Its file
cases.txt has a line for each array: path, type, what a voxel's place is multiplied to, c z y x of the volume and of a
block, then the box that has the fill value (begin and end of z y x)."""
import gzip
import json
import shutil
import struct
import sys
import tempfile
from pathlib import Path

import blosc2
import numcodecs
import numpy as np
import zarr
from zarr.codecs import (BloscCodec, BytesCodec, Crc32cCodec, GzipCodec, ShardingCodec, TransposeCodec, ZstdCodec)

numcodecs.blosc.use_threads = False
cases = []
folder = Path(tempfile.mkdtemp())


def values(shape, dtype):
    """The value of a voxel: see value_at() in volume_stores.h."""
    c, z, y, x = np.indices(shape)
    v = (x + 3 * y + 11 * z + 50 * c) % 97 + np.where((x * y + z) % 13 == 0, 100, 0)
    return v.astype(dtype) if np.dtype(dtype).kind != "b" else (v % 2 == 0)


def note(path, dtype, shape, block, hole=None):
    name = np.dtype(dtype).newbyteorder("=").name.replace("bool", "uint8")
    hole = hole or [(0, 0), (0, 0), (0, 0)]
    cases.append(" ".join(map(str, [path, name, *shape, *block, *[b for b, _ in hole], *[e for _, e in hole]])))


def zarr_case(path, dtype="<u2", shape=(7, 9, 10), chunk=(4, 5, 6), full=None, block=None, hole=None, note_as=None,
              **settings):
    """An array; `hole` is a box of whole chunks on z y x that is not written."""
    full = full or (1,) * (4 - len(shape)) + tuple(shape)[-4:]
    block = block or (1,) * (4 - len(chunk)) + tuple(chunk)[-4:]
    data = values(full, dtype)
    if hole:
        (z0, z1), (y0, y1), (x0, x1) = hole
        data[:, z0:z1, y0:y1, x0:x1] = settings.get("fill_value", 0)
    array = zarr.create_array(store=folder / path, shape=shape, chunks=chunk,
                              dtype=dtype, config={"write_empty_chunks": False, "order": settings.pop("memory", "C")},
                              **settings)
    array[...] = data.reshape(shape)
    note(note_as or path, dtype, full, block, hole)


def zarr_v2():
    def case(path, **settings):
        zarr_case("v2_" + path, zarr_format=2, **{"compressors": None, **settings})

    case("plain")
    for name in ("lz4", "lz4hc", "zstd", "blosclz", "zlib"):
        for shuffle, word in ((0, "none"), (1, "shuffle"), (2, "bitshuffle")):
            case(f"blosc_{name}_{word}", compressors=numcodecs.Blosc(name, 5, shuffle))
    case("blosc_blocks", dtype="<f4", shape=(8, 10, 30), chunk=(8, 10, 30),
         compressors=numcodecs.Blosc("lz4", 5, 1, blocksize=4096))
    case("blosc_level0", compressors=numcodecs.Blosc("lz4", 0, 1))
    case("zstd", compressors=numcodecs.Zstd(3))
    case("gzip", compressors=numcodecs.GZip(5))
    case("zlib", compressors=numcodecs.Zlib(5))
    case("lz4", compressors=numcodecs.LZ4())
    case("order_f", order="F", compressors=numcodecs.Zstd(3))
    case("order_f_channels", order="F", shape=(2, 5, 6, 7), chunk=(1, 3, 6, 4), dtype=">f4")
    case("slash", chunk_key_encoding={"name": "v2", "separator": "/"})
    for dtype in (">u2", ">i4", ">f8", "<i8", "|i1", "|u1", "<f2", "|b1", "<u4", "<u8"):
        case("type_" + np.dtype(dtype).str[1:] + ("_big" if dtype[0] == ">" else ""), dtype=dtype,
             compressors=numcodecs.Blosc("lz4", 5, 1))
    case("missing", hole=[(0, 4), (5, 9), (0, 6)], fill_value=7, compressors=numcodecs.Zstd(3))
    case("missing_nan", dtype="<f4", hole=[(4, 7), (0, 5), (6, 10)], fill_value=float("nan"))
    case("two_axes", shape=(10, 11), chunk=(4, 6))
    case("five_axes", shape=(1, 2, 5, 6, 7), chunk=(1, 1, 3, 6, 4))
    case("wide_chunks", shape=(1, 1, 5, 6, 7), chunk=(2, 3, 8, 6, 4), block=(3, 8, 6, 4))


def zarr_v3():
    def case(path, **settings):
        zarr_case("v3_" + path, zarr_format=3, **{"compressors": None, **settings})

    case("plain")
    case("big_endian", serializer=BytesCodec(endian="big"), dtype="<i4")
    case("gzip", compressors=GzipCodec(level=5))
    case("zstd", compressors=ZstdCodec(level=3))
    case("zstd_crc", compressors=[ZstdCodec(level=3, checksum=True), Crc32cCodec()])
    case("crc_gzip", compressors=[Crc32cCodec(), GzipCodec(level=5)])
    for name in ("lz4", "lz4hc", "zstd", "blosclz", "zlib"):
        for shuffle in ("noshuffle", "shuffle", "bitshuffle"):
            case(f"blosc_{name}_{shuffle}", compressors=BloscCodec(cname=name, clevel=5, shuffle=shuffle))
    case("transpose", filters=[TransposeCodec(order=(1, 2, 0))], compressors=ZstdCodec(level=3))
    case("transpose_twice", filters=[TransposeCodec(order=(1, 2, 0)), TransposeCodec(order=(0, 2, 1))],
         serializer=BytesCodec(endian="big"), compressors=ZstdCodec(level=3))
    case("keys_dot", chunk_key_encoding={"name": "default", "separator": "."})
    case("keys_v2", chunk_key_encoding={"name": "v2", "separator": "."})
    case("keys_v2_slash", chunk_key_encoding={"name": "v2", "separator": "/"})
    case("missing", hole=[(0, 4), (5, 9), (0, 6)], fill_value=513)
    case("missing_nan", dtype="<f4", hole=[(4, 7), (0, 5), (6, 10)], fill_value=float("nan"))
    case("missing_half", dtype="<f2", hole=[(4, 7), (0, 5), (6, 10)], fill_value=-1.5)
    for dtype in ("|i1", "<f2", "<f8", "|b1", "<u8"):
        case("type_" + np.dtype(dtype).str[1:], dtype=dtype, compressors=ZstdCodec(level=3))
    case("two_axes", shape=(10, 11), chunk=(4, 6))
    case("channels", shape=(2, 5, 6, 7), chunk=(1, 3, 6, 4), compressors=ZstdCodec(level=3))
    for place in ("start", "end"):
        case(f"shards_{place}", chunk=(6, 8, 12), block=(1, 3, 4, 4), serializer=ShardingCodec(
            chunk_shape=(3, 4, 4), codecs=[BytesCodec(), ZstdCodec(level=3)],
            index_codecs=[BytesCodec(), Crc32cCodec()], index_location=place))
    case("shards_blosc", chunk=(6, 8, 12), block=(1, 3, 4, 4), dtype="<f4", serializer=ShardingCodec(
        chunk_shape=(3, 4, 4), codecs=[TransposeCodec(order=(2, 1, 0)), BytesCodec(endian="big"),
                                       BloscCodec(cname="lz4hc", clevel=5, shuffle="shuffle"), Crc32cCodec()],
        index_codecs=[BytesCodec(endian="big")], index_location="end"))
    case("shards_missing", chunk=(6, 8, 12), block=(1, 3, 4, 4), hole=[(0, 3), (4, 8), (0, 8)], fill_value=9,
         serializer=ShardingCodec(chunk_shape=(3, 4, 4), codecs=[BytesCodec(), GzipCodec(level=5)],
                                  index_codecs=[BytesCodec(), Crc32cCodec()], index_location="end"))


def ome():
    axes = [{"name": "t", "type": "time"}, {"name": "c", "type": "channel"}] + \
           [{"name": a, "type": "space", "unit": "micrometer"} for a in "zyx"]
    for version, zarr_format in (("0.4", 2), ("0.5", 3)):
        path = f"ome_{version[2]}"
        image = {"axes": axes, "name": "x", "datasets": [
            {"path": f"scales/{i}", "coordinateTransformations": [
                {"type": "scale", "scale": [1.0, 1.0, 2000.0 * 2 ** i, 500.0, 250.0]},
                {"type": "translation", "translation": [0.0, 0.0, 10.0, 20.0, 30.0]}]} for i in range(2)]}
        if version == "0.4":
            image["version"] = version
        attributes = {"multiscales": [image]} if version == "0.4" else {"ome": {"version": version, "multiscales": [image]}}
        zarr.create_group(store=folder / path, zarr_format=zarr_format, attributes=attributes)
        keys = {"name": "v2" if zarr_format == 2 else "default", "separator": "/"}
        for i in range(2):
            shape = (1, 2, 5, 6, 7) if i == 0 else (1, 2, 3, 3, 4)
            zarr_case(f"{path}/scales/{i}", shape=shape, chunk=(1, 1, 3, 6, 4), zarr_format=zarr_format,
                      compressors=numcodecs.Blosc("lz4", 5, 1) if zarr_format == 2 else ZstdCodec(level=3),
                      chunk_key_encoding=keys, note_as=path)
            if i == 1:
                cases.pop()
    path = "ome_channels"  # axes that only their names tell
    zarr.create_group(store=folder / path, zarr_format=2, attributes={"multiscales": [
        {"version": "0.4", "axes": [{"name": "c", "type": "channel"}, {"name": "y", "type": "space"},
                                    {"name": "x", "type": "space"}], "datasets": [{"path": "0"}]}]})
    zarr_case(path + "/0", shape=(3, 6, 7), chunk=(1, 6, 4), full=(3, 1, 6, 7), block=(1, 1, 6, 4), zarr_format=2,
              compressors=None, note_as=path)


def b2nd_case(path, dtype="<f4", shape=(7, 10, 11), chunk=(6, 8, 8), block=(3, 4, 4), shown=None, data=None, hole=None,
              codec=blosc2.Codec.LZ4HC, filters=(), **settings):
    full = (1,) * (4 - len(shape)) + tuple(shape)[-4:]
    shown = shown or (1,) * (4 - len(block)) + tuple(block)[-4:]
    data = values(full, dtype) if data is None else data
    filters = list(filters) + [blosc2.Filter.NOFILTER] * (6 - len(filters))
    cparams = blosc2.CParams(codec=codec, clevel=settings.pop("clevel", 5), filters=filters, nthreads=1, **settings)
    blosc2.asarray(np.ascontiguousarray(data.reshape(shape)), chunks=chunk, blocks=block, cparams=cparams,
                   urlpath=str(folder / f"{path}.b2nd"), mode="w")
    note(f"{path}.b2nd", dtype, full, shown, hole)


def b2nd():
    f, c = blosc2.Filter, blosc2.Codec
    kinds = (("plain", ()), ("shuffle", (f.SHUFFLE,)), ("bitshuffle", (f.BITSHUFFLE,)))
    for dtype in ("<f4", "<i2", "|u1"):
        for codec in (c.LZ4, c.LZ4HC, c.ZSTD, c.BLOSCLZ, c.ZLIB):
            for word, filters in kinds:
                b2nd_case(f"{np.dtype(dtype).str[1:]}_{codec.name.lower()}_{word}", dtype, codec=codec, filters=filters)
    b2nd_case("channels", shape=(2, 7, 10, 11), chunk=(1, 6, 8, 8), block=(1, 3, 4, 4), filters=(f.SHUFFLE,))
    b2nd_case("five_axes", shape=(1, 2, 5, 6, 7), chunk=(1, 1, 3, 6, 4), block=(1, 1, 3, 3, 2))
    b2nd_case("two_axes", shape=(14, 17), chunk=(8, 12), block=(4, 6))
    b2nd_case("level0", clevel=0)
    b2nd_case("never_split", filters=(f.SHUFFLE,), splitmode=blosc2.SplitMode.NEVER_SPLIT)
    b2nd_case("always_split", filters=(f.SHUFFLE,), splitmode=blosc2.SplitMode.ALWAYS_SPLIT)
    b2nd_case("precision", filters=(f.TRUNC_PREC, f.SHUFFLE), filters_meta=[16, 0, 0, 0, 0, 0])
    b2nd_case("f8", dtype="<f8", filters=(f.SHUFFLE,))
    b2nd_case("u8", dtype="<u8", filters=(f.BITSHUFFLE,))
    b2nd_case("bool", dtype="|b1")
    b2nd_case("f2", dtype="<f2")
    b2nd_case("big", dtype=">i2", filters=(f.SHUFFLE,))
    # Blocks that do not divide their chunk: read by chunks along that axis, unless there is one chunk.
    b2nd_case("odd_blocks", chunk=(5, 8, 11), block=(3, 4, 4), shown=(1, 5, 4, 4))
    for path, value in (("zero", 0), ("nan", np.nan)):
        data = values((1, 7, 10, 11), "<f4")
        data[:, 0:6, 8:10, 0:8] = value
        b2nd_case(path + "_chunk", data=data, hole=[(0, 6), (8, 10), (0, 8)])
    for name, made in (("all_zero", blosc2.zeros), ("all_nan", blosc2.nans), ("all_uninit", blosc2.uninit),
                       ("all_value", blosc2.full)):
        more = {"fill_value": 7.5} if made is blosc2.full else {}
        made(shape=(7, 10, 11), dtype="<f4", chunks=(6, 8, 8), blocks=(3, 4, 4), urlpath=str(folder / f"{name}.b2nd"),
             mode="w", **more)
        note(f"{name}.b2nd", "<f4", (1, 7, 10, 11), (1, 3, 4, 4), [(0, 7), (0, 10), (0, 11)])
    # Refused by name.
    for path, filters in (("refused_delta", (f.DELTA,)), ("refused_bytedelta", (f.SHUFFLE, f.BYTEDELTA))):
        b2nd_case(path, filters=filters)
        cases.pop()
    b2nd_case("refused_dict", codec=c.ZSTD, use_dict=True, shape=(32, 32, 32), chunk=(32, 32, 32), block=(4, 32, 32))
    cases.pop()


def pack(name):
    (folder / "cases.txt").write_text("\n".join(cases) + "\n")
    out = bytearray()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        word, content = str(path.relative_to(folder)).encode(), path.read_bytes()
        if path.name in ("zarr.json", ".zarray", ".zattrs"):
            content = json.dumps(json.loads(content), separators=(",", ":")).encode()
        out += struct.pack("<II", len(word), len(content)) + word + content
    packed = gzip.compress(bytes(out), 9, mtime=0)
    Path("data_stores", name).write_bytes(packed)
    print(name, len(cases), "cases,", len(out), "bytes, packed", len(packed))
    shutil.rmtree(folder)
    folder.mkdir()
    cases.clear()


if __name__ == "__main__":
    zarr_v2(), zarr_v3(), ome()
    pack("zarr.pack.gz")
    b2nd()
    pack("b2nd.pack.gz")
    sys.exit(0)
