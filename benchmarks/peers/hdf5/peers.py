"""The Python contenders. Reads lines "<what> <file> <rows> <rows of a chunk>" and answers each with
how many samples it has put into batches; the caller measures the time."""
import os
import sys

import numpy as np

BATCH = 8192
WORKERS = 2
SEED = 7

import h5py  # noqa: E402

try:
    import torch
    from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset
except ImportError:
    torch = None
    Dataset = IterableDataset = object
try:
    import hidefix
except ImportError:
    hidefix = None


class PerRow(Dataset):
    """A sample a call, the file opened in the worker: what most people write."""

    def __init__(self, path):
        self.path, self.file = path, None
        with h5py.File(path) as file:
            self.count = len(file["label"])

    def open(self):
        if self.file is None:
            self.file = h5py.File(self.path)
            self.rows, self.labels = self.file["row"], self.file["label"]

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        self.open()
        return torch.from_numpy(self.rows[index]), int(self.labels[index])


class PerBatch(PerRow):
    """A sorted fancy index a batch."""

    def __getitems__(self, indices):
        self.open()
        indices = np.sort(np.asarray(indices))
        return (torch.from_numpy(self.rows[indices]), torch.from_numpy(self.labels[indices]))


class Chunks(IterableDataset):
    """Whole chunks in a random order, mixed in windows of 16: as ShuffledByChunk does."""

    def __init__(self, path, rows, chunk):
        self.path, self.rows, self.chunk, self.epoch = path, rows, chunk, 0

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        with h5py.File(self.path) as file:
            rows, labels = file["row"], file["label"]
            random = np.random.default_rng(SEED + self.epoch)
            self.epoch += 1
            order = random.permutation(min(len(rows), self.rows) // self.chunk)
            windows = [order[i:i + 32] for i in range(0, len(order), 32)]
            for window in windows[info.id::info.num_workers]:
                got = [rows[c * self.chunk:(c + 1) * self.chunk] for c in window]
                marks = [labels[c * self.chunk:(c + 1) * self.chunk] for c in window]
                got, marks = np.concatenate(got), np.concatenate(marks)
                mixed = random.permutation(len(got))
                for i in range(0, len(mixed), BATCH):
                    part = mixed[i:i + BATCH]
                    yield torch.from_numpy(got[part]), torch.from_numpy(marks[part])


class Indices:
    """Batches of random indices, `rows` samples an epoch."""

    def __init__(self, count, rows):
        self.count, self.rows, self.epoch = count, rows, 0

    def __len__(self):
        return self.rows // BATCH

    def __iter__(self):
        order = np.random.default_rng(SEED + self.epoch).permutation(self.count)[:self.rows]
        self.epoch += 1
        for i in range(0, self.rows, BATCH):
            yield order[i:i + BATCH].tolist()


loaders = {}


def through_loader(what, path, rows, chunk):
    key = (what, path)
    if key not in loaders:
        common = dict(num_workers=WORKERS, persistent_workers=True, prefetch_factor=4)
        if what == "chunks":
            loaders[key] = DataLoader(Chunks(path, rows, chunk), batch_size=None, **common)
        else:
            data = (PerRow if what == "per_row" else PerBatch)(path)
            collate = {} if what == "per_row" else dict(collate_fn=lambda batch: batch)
            loaders[key] = DataLoader(data, batch_sampler=Indices(len(data), rows), **common,
                                      **collate)
    return sum(len(labels) for _, labels in loaders[key])


def fancy(path, rows):
    done = 0
    with h5py.File(path) as file:
        table, labels = file["row"], file["label"][:]
        order = np.random.default_rng(SEED).permutation(len(labels))[:rows]
        for i in range(0, rows, BATCH):
            part = np.sort(order[i:i + BATCH])
            done += len(table[part])
            labels[part]
    return done


def slices(path, rows):
    with h5py.File(path) as file:
        table, labels = file["row"], file["label"]
        return sum(len(table[i:i + BATCH]) + 0 * len(labels[i:i + BATCH])
                   for i in range(0, rows, BATCH))


indexes = {}


def as_float32(path):
    """hidefix knows no 16-bit floats: the same bytes as float32, stored the same way."""
    other = path.replace(".h5", "-float32.h5")
    if not os.path.exists(other):
        with h5py.File(path) as file, h5py.File(other + ".partial", "w") as to:
            rows = file["row"]
            shape = rows.shape[:-1] + (rows.shape[-1] // 2,)
            chunks = rows.chunks and rows.chunks[:-1] + (rows.chunks[-1] // 2,)
            made = to.create_dataset("row", shape, "<f4", chunks=chunks, shuffle=rows.shuffle,
                                     compression=rows.compression,
                                     compression_opts=rows.compression_opts)
            for i in range(0, len(rows), BATCH):
                made[i:i + BATCH] = rows[i:i + BATCH].view("<f4")
        os.rename(other + ".partial", other)
    return other


def with_hidefix(path, rows):
    if path not in indexes:
        indexes[path] = hidefix.Index(as_float32(path)).dataset("row")
    table = indexes[path]
    with h5py.File(path) as file:
        labels = file["label"]
        done = 0
        for i in range(0, rows, BATCH):
            done += len(table[(slice(i, i + BATCH),)])
            labels[i:i + BATCH]
    return done


def answer(what, path, rows, chunk):
    if what in ("per_row", "per_batch", "chunks"):
        return through_loader(what, path, rows, chunk)
    return {"fancy": fancy, "slices": slices, "hidefix": with_hidefix}[what](path, rows)


def main():
    known = ["fancy", "slices"]
    if torch is not None:
        known += ["per_row", "per_batch", "chunks"]
    if hidefix is not None:
        known.append("hidefix")
    for line in sys.stdin:
        what, *rest = line.split()
        try:
            said = " ".join(known) if what == "known" else answer(what, rest[0], int(rest[1]),
                                                                  int(rest[2]))
        except BaseException as error:  # said to the caller, which stops
            said = "error " + repr(error).replace("\n", " ")
        print(said, flush=True)


if __name__ == "__main__":
    main()
