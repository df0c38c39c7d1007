"""The photographs of scripts/photographs, learnt by `headrace train` and by PyTorch with the pictures of torchvision: the
same network from nothing, the same budget, augmentation, optimiser, schedule and choice of weights, seed by seed."""

import csv
import functools
import glob
import json
import os
import shlex
import shutil
import struct
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision.transforms import v2

import report
from networks import ResNet18

SIDE, WIDTH, EPOCHS, BATCH, RATE, DECAY, WARMUP, LEAST_AREA = 64, 0.5, 16, 32, 1e-3, 0.01, 2, 0.35
SETTINGS = {"image.size": SIDE, "model.width": WIDTH, "training.epochs": EPOCHS, "training.batch": BATCH,
            "training.learning_rate": RATE, "training.weight_decay": DECAY, "training.early_stopping": EPOCHS,
            "augment": f"[{{random_resized_crop: {{scale: [{LEAST_AREA}, 1.0]}}}}, {{flip: 0.5}}]",
            "device": "cpu", "selected_by": "macro_f1"}
MOST_BELOW = 0.02  # of accuracy, what our median may be below PyTorch's
NORMALISE = v2.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
TENSOR = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), NORMALISE])
KEPT = functools.cache(datasets.folder.pil_loader)
TRAIN = v2.Compose([v2.RandomResizedCrop(SIDE, scale=(LEAST_AREA, 1.0)), v2.RandomHorizontalFlip(), TENSOR])
JUDGE = v2.Compose([v2.Resize(round(SIDE / 0.875)), v2.CenterCrop(SIDE), TENSOR])


def pictures(args, part, transform, **options):
    """Decoded once and kept: what is compared is what is learnt."""
    return DataLoader(datasets.ImageFolder(os.path.join(args.data, part), transform, loader=KEPT), **options)


def optimiser(network, steps):
    """AdamW that leaves vectors alone, and its rate by steps: up from a tenth, then half a cosine."""
    parameters = list(network.parameters())
    adamw = torch.optim.AdamW([{"params": [p for p in parameters if p.dim() > 1], "weight_decay": DECAY},
                               {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0}], lr=RATE)
    warm = WARMUP * steps
    up = torch.optim.lr_scheduler.LinearLR(adamw, start_factor=0.1, total_iters=warm)
    down = torch.optim.lr_scheduler.CosineAnnealingLR(adamw, T_max=EPOCHS * steps - warm)
    return adamw, torch.optim.lr_scheduler.SequentialLR(adamw, [up, down], milestones=[warm])


@torch.no_grad()
def judge(network, loader):
    """Accuracy and macro F1."""
    network.eval()
    classes = len(loader.dataset.classes)
    counts = torch.zeros(classes, classes)
    for images, labels in loader:
        found = network(images.contiguous(memory_format=torch.channels_last)).argmax(1)
        counts += torch.bincount(labels * classes + found, minlength=classes**2).view(classes, classes)
    right = counts.diag()
    f1 = 2 * right / (counts.sum(0) + counts.sum(1)).clamp_min(1)
    return (right.sum() / counts.sum()).item(), f1.mean().item()


def twin(args, seed):
    """Accuracy on the test part of the weights that were best on the validation, and the seconds."""
    began = time.perf_counter()
    torch.manual_seed(seed)
    torch.set_num_threads(args.workers)
    train = pictures(args, "train", TRAIN, batch_size=BATCH, shuffle=True, drop_last=True)
    validation = pictures(args, "validation", JUDGE, batch_size=2 * BATCH)
    network = ResNet18(len(train.dataset.classes), WIDTH).to(memory_format=torch.channels_last)
    adamw, schedule = optimiser(network, len(train))
    best, weights = -1.0, None
    for _ in range(EPOCHS):
        network.train()
        for images, labels in train:
            adamw.zero_grad()
            loss = nn.functional.cross_entropy(network(images.contiguous(memory_format=torch.channels_last)), labels)
            loss.backward()
            adamw.step()
            schedule.step()
        _, f1 = judge(network, validation)
        if f1 > best:
            best, weights = f1, {name: tensor.clone() for name, tensor in network.state_dict().items()}
    network.load_state_dict(weights)
    return judge(network, pictures(args, "test", JUDGE, batch_size=2 * BATCH))[0], time.perf_counter() - began


def read_safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = bytearray(file.read())
    header.pop("__metadata__", None)
    types = {"F32": torch.float32, "I64": torch.int64}
    return {name: torch.frombuffer(data, dtype=types[entry["dtype"]], offset=entry["data_offsets"][0],
                                   count=torch.Size(entry["shape"]).numel()).view(entry["shape"])
            for name, entry in header.items()}


def headrace(args, start, seed):
    """Likewise; and what the twin finds with the weights that we export, strictly by name and shape."""
    command = shlex.split(args.headrace)
    folder = tempfile.mkdtemp(prefix="headrace-twin-")
    try:
        job = os.path.join(folder, "job.yaml")
        start([*command, "new", "classification", "--data", args.data, "--output", job], args.timeout)
        settings = SETTINGS | {"seed": seed, "runs": folder, "threads.torch": args.workers, "data.listings": '""'}
        began = time.perf_counter()
        start([*command, "train", job, *(f"--set={key}={value}" for key, value in settings.items())], args.timeout)
        seconds = time.perf_counter() - began
        (run,) = glob.glob(os.path.join(folder, "classification-*"))
        with open(os.path.join(run, "results.csv"), newline="") as file:
            accuracy = float(next(csv.DictReader(file))["test_accuracy"])
        weights = os.path.join(folder, "model.safetensors")
        start([*command, "export", run, "--output", weights], args.timeout)
        test = pictures(args, "test", JUDGE, batch_size=2 * BATCH)
        network = ResNet18(len(test.dataset.classes), WIDTH)
        network.load_state_dict(read_safetensors(weights))
        return accuracy, seconds, judge(network, test)[0]
    finally:
        shutil.rmtree(folder)


def rows_of(ours, theirs):
    """{section: rows} of [(accuracy, seconds, ...)], a seed each."""
    title = f"photographs, ResNet-18 of width {WIDTH}, {SIDE} pixels, {EPOCHS} epochs: "
    rows = []
    for name, found in (("PyTorch", theirs), ("headrace", ours)):
        rows.append(report.figure(title + "test accuracy", name, "share", [row[0] for row in found]))
    least = rows[0]["median"] - MOST_BELOW
    rows[1].update(goal=least, goal_of="median", goal_is="at least", held=rows[1]["median"] >= least)
    rows.append(report.figure(title + "test accuracy", "headrace's weights in PyTorch", "share", [row[2] for row in ours]))
    for name, found in (("PyTorch", theirs), ("headrace", ours)):
        rows.append(report.figure(title + "time", name, "s", [row[1] for row in found]))
    return rows


def compare(args, start):
    """Seeds in turn; `start` runs a command."""
    ours, theirs = [], []
    for seed in range(1, args.rounds + 1):
        ours.append(headrace(args, start, seed))
        print(f"seed {seed}: headrace: accuracy {ours[-1][0]:.4f} in {ours[-1][1]:.0f} s, "
              f"its weights in PyTorch {ours[-1][2]:.4f}", flush=True)
        theirs.append(twin(args, seed))
        print(f"seed {seed}: PyTorch: accuracy {theirs[-1][0]:.4f} in {theirs[-1][1]:.0f} s", flush=True)
        report.write(args.json, "twins_photographs", rows_of(ours, theirs), dry=False)
    report.show(rows_of(ours, theirs))
