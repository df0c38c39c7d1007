"""Random patches of the large volume, read and nothing else; --variant is the library, --work the file."""

import numpy as np

import common

STORED = {"large.zarr": 35_192_920, "large.b2nd": 4 * 35_192_920, "large.h5": 35_192_920}


def tensorstore_volume(path, args, room):
    import tensorstore

    context = tensorstore.Context({"cache_pool": {"total_bytes_limit": room},
                                   "data_copy_concurrency": {"limit": args.threads},
                                   "file_io_concurrency": {"limit": args.threads}})
    array = tensorstore.open({"driver": "zarr3", "kvstore": {"driver": "file", "path": str(path)}},
                             context=context, read=True, recheck_cached_data=False).result()
    return lambda box: array[box].read().result(), array.shape


def zarr_volume(path, args, _room):
    """Keeps no decoded chunks."""
    import zarr

    zarr.config.set({"async.concurrency": args.threads, "threading.max_workers": args.threads})
    array = zarr.open_array(path, mode="r")
    return lambda box: array[box], array.shape


def blosc2_volume(path, _args, _room):
    """Keeps no decoded blocks; threads of ours, as nnU-Net's workers."""
    import blosc2

    array = blosc2.open(str(path), mode="r", mmap_mode="r", dparams={"nthreads": 1})
    return lambda box: array[(slice(0, 1), *box)], array.shape


def h5py_volume(path, _args, room):
    import h5py

    data = h5py.File(path, "r", rdcc_nbytes=room, rdcc_nslots=10_007)["volume"]
    return lambda box: data[box], data.shape


def nibabel_volume(path, _args, _room):
    """Mapped."""
    import nibabel

    data = nibabel.load(path, mmap=True).dataobj
    return (lambda box: np.array(data[box[::-1]]).T), data.shape[::-1]


def main():
    args = common.arguments()
    path = args.folder / args.work
    files = [each for each in path.rglob("*") if each.is_file()] if path.is_dir() else [path]
    opening = {"tensorstore": tensorstore_volume, "zarr": zarr_volume, "blosc2": blosc2_volume,
               "h5py": h5py_volume, "nibabel": nibabel_volume}[args.variant]
    room = int(args.cache * STORED.get(args.work, 0))
    common.serve_reading(lambda: opening(path, args, room), files, args)


if __name__ == "__main__":
    main()
