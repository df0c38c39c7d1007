"""The leak job behind PyTorch's loaders: LeakCNN, batches of HDF5 rows, the loss, optimiser,
clipping and precision of ours. Each contender gives an endless iterator of (mel, label)."""

import time

import h5py
import numpy as np
import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, Dataset

from learning import leak_loss, optimiser_of
from measure import Shuffled, Watch, loader_options, measure
from networks import LeakCNN

MEAN, DEVIATION = -44.0, 8.0  # config_json of the file that our program makes
ROW_BYTES = 64 * 5 * 2 + 8


class PerRow(Dataset):
    """A segment a call, the file opened in the worker: how the job with 11 % read them."""

    def __init__(self, path):
        self.path, self.file = path, None
        with h5py.File(path) as file:
            self.shape = file["segments_mel"].shape

    def __len__(self):
        return self.shape[0] * self.shape[1] * self.shape[2]

    def open(self):
        if self.file is None:
            self.file = h5py.File(self.path)
            self.mel, self.labels = self.file["segments_mel"], self.file["labels"]

    def __getitem__(self, index):
        self.open()
        recording, place = divmod(index, self.shape[1] * self.shape[2])
        mel = self.mel[(recording, *divmod(place, self.shape[2]))]
        return torch.from_numpy(mel), int(self.labels[recording] == 2)


class PerBatch(Dataset):
    """One sorted fancy index a batch on rows that lie flat."""

    def __init__(self, path):
        self.path, self.file = path, None
        with h5py.File(path) as file:
            self.length = len(file["flat_label"])

    def __len__(self):
        return self.length

    def open(self):
        if self.file is None:
            self.file = h5py.File(self.path)
            self.mel, self.labels = self.file["flat_mel"], self.file["flat_label"]

    def __getitems__(self, indices):
        self.open()
        indices = np.sort(np.asarray(indices))
        return torch.from_numpy(self.mel[indices]), torch.from_numpy(self.labels[indices])


class Mapped(PerBatch):
    """The same out of a map of the file: rows that are not packed lie at known places."""

    def open(self):
        if self.file is None:
            with h5py.File(self.path) as file:
                maps = [np.memmap(self.path, dataset.dtype, "r", dataset.id.get_offset(),
                                  dataset.shape)
                        for dataset in (file["flat_mel"], file["flat_label"])]
            self.mel, self.labels = self.file = maps

    def __getitems__(self, indices):
        self.open()
        indices = np.sort(np.asarray(indices))
        return (torch.from_numpy(np.take(self.mel, indices, 0)),
                torch.from_numpy(np.take(self.labels, indices)))


def per_row(args):
    data = PerRow(args.data)
    return iter(DataLoader(data, args.batch, sampler=Shuffled(data), drop_last=True,
                           **loader_options(args, args.batch * ROW_BYTES)))


def as_it_is(batch):
    return batch


def by_batch(data, args):
    sampler = BatchSampler(Shuffled(data), args.batch, drop_last=True)
    return iter(DataLoader(data, batch_sampler=sampler, collate_fn=as_it_is,
                           **loader_options(args, args.batch * ROW_BYTES)))


def resident(args, on_device):
    """The whole set as tensors, an index_select a batch, no worker."""
    device = torch.device(args.device if on_device else "cpu")
    with h5py.File(args.data) as file:
        mel = torch.from_numpy(file["flat_mel"][:]).to(device)
        label = torch.from_numpy(file["flat_label"][:]).to(device)
    pin = args.device == "cuda" and not on_device
    while True:
        order = torch.randperm(len(label), device=device)
        for rows in order.split(args.batch):
            if len(rows) == args.batch:
                batch = mel.index_select(0, rows), label.index_select(0, rows)
                yield tuple(part.pin_memory() for part in batch) if pin else batch


def on_gpu(args):
    if args.device != "cuda":
        raise RuntimeError("needs a GPU")
    return resident(args, True)


def as_input(mel):
    mel = mel.float().sub_(MEAN).mul_(1 / DEVIATION)
    return mel.unsqueeze(1).contiguous(memory_format=torch.channels_last)


def class_weights(args):
    """The classes of the made file are as frequent as each other."""
    return torch.ones(2, device=args.device)


def autocast(args):
    return torch.autocast(args.device, torch.bfloat16, enabled=args.precision == "bf16")


def network_of(args):
    torch.manual_seed(42)
    return LeakCNN().to(args.device, memory_format=torch.channels_last)


def plain_loop(args, batches):
    network = network_of(args)
    optimiser = optimiser_of(network)
    weights = class_weights(args)

    def step(batch):
        mel, label = (part.to(args.device, non_blocking=True) for part in batch)
        with autocast(args):
            loss = leak_loss(network(as_input(mel)), label, weights)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        return loss.detach()

    return measure(args, batches, step)


class TimedLoader:
    """Notes what its user waits for each batch."""

    def __init__(self, batches):
        self.batches, self.waited = batches, 0.0

    def __iter__(self):
        return self

    def __next__(self):
        asked = time.perf_counter()
        batch = next(self.batches)
        self.waited += time.perf_counter() - asked
        return batch


def lightning_loop(args, batches):
    try:
        import lightning
    except ImportError:
        import pytorch_lightning as lightning
    watch, loader = Watch(args), TimedLoader(batches)

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.network = network_of(args)
            self.weights = class_weights(args)

        def training_step(self, batch, _):
            mel, label = batch
            self.loss = leak_loss(self.network(as_input(mel)), label, self.weights)
            return self.loss

        def configure_optimizers(self):
            return optimiser_of(self.network, fused=False)  # Lightning clips no other

        def on_train_batch_end(self, *_):
            waited, loader.waited = loader.waited, 0.0
            if not watch.step(waited, self.loss.detach()):
                self.trainer.should_stop = True

    trainer = lightning.Trainer(
        accelerator="gpu" if args.device == "cuda" else "cpu", devices=1, max_epochs=1,
        max_steps=args.warm + args.steps, gradient_clip_val=1.0, logger=False,
        precision="bf16-mixed" if args.precision == "bf16" else 32, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Module(), loader)
    return watch.figures


ROW = "h5py, a row a call (the way of the 11 % job)"
EXPERTS = ["h5py, a sorted fancy index a batch", "map of the file, a batch a call",
           "all in host memory, index_select"]
GPU = "all in the GPU's memory, index_select"

CONTENDERS = {
    ROW: lambda args: plain_loop(args, per_row(args)),
    EXPERTS[0]: lambda args: plain_loop(args, by_batch(PerBatch(args.data), args)),
    EXPERTS[1]: lambda args: plain_loop(args, by_batch(Mapped(args.data), args)),
    EXPERTS[2]: lambda args: plain_loop(args, resident(args, False)),
    GPU: lambda args: plain_loop(args, on_gpu(args)),
    "Lightning, map of the file": lambda args: lightning_loop(
        args, by_batch(Mapped(args.data), args)),
}
