"""Twenty training steps of a job in PyTorch, for tests/training/pytorch_steps_test.cpp.

    python3 pytorch_steps.py glaucoma|leak batches|windows FOLDER

Networks, losses, optimiser and schedules are PyTorch's own, put together from the jobs' description and not from the
C++ code, whose names of parameters they share. Nothing is dropped out, one thread computes, all values are drawn as
float32 from a seeded generator, so that float64 begins from the same numbers. `windows` makes each step of two
micro-batches of unequal size, one with rows that do not count. Into FOLDER go, as safetensors,

    batches    <step>.<part>.input, .target and, where rows are absent, .present; class_counts of the leak job
    state-<k>  network/* and optimizer/* before step k of the float32 run; state-20 is its end
    losses     float32 and float64: mean loss of each step over the rows that count; rates: learning rates
"""

import ctypes
import json
import math
import struct
import sys
from collections import OrderedDict
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

STEPS = 20
DTYPES = {torch.float64: "F64", torch.int64: "I64", torch.float32: "F32", torch.bool: "BOOL"}


def write_safetensors(path, tensors):
    order = sorted(tensors, key=lambda name: -tensors[name].element_size())
    header, data, end = {}, [], 0
    for name in order:
        tensor = tensors[name].detach().contiguous()
        begin, end = end, end + tensor.nbytes
        header[name] = {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end]}
        data.append(ctypes.string_at(tensor.data_ptr(), tensor.nbytes))
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data))


def conv3x3(inputs, outputs):
    return nn.Conv2d(inputs, outputs, 3, padding=1)


def glaucoma_network():
    def chain(*layers):
        return nn.Sequential(OrderedDict(layers))

    def block(inputs, outputs):
        return chain(
            ("conv1", conv3x3(inputs, outputs)), ("norm1", nn.BatchNorm2d(outputs)), ("relu1", nn.ReLU()),
            ("conv2", conv3x3(outputs, outputs)), ("norm2", nn.BatchNorm2d(outputs)), ("relu2", nn.ReLU()),
            ("pool", nn.MaxPool2d(2)))

    stem = chain(("conv", conv3x3(3, 32)), ("norm", nn.BatchNorm2d(32)), ("relu", nn.ReLU()), ("pool", nn.MaxPool2d(2)))
    head = chain(("linear1", nn.Linear(256, 512)), ("relu", nn.ReLU()), ("norm", nn.BatchNorm1d(512)),
                 ("linear2", nn.Linear(512, 5)))
    return chain(("stem", stem), ("block1", block(32, 64)), ("block2", block(64, 128)), ("block3", block(128, 256)),
                 ("average", nn.AdaptiveAvgPool2d(1)), ("flatten", nn.Flatten()), ("head", head))


class LeakNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2, self.conv3 = conv3x3(1, 32), conv3x3(32, 64), conv3x3(64, 128)
        self.linear = nn.Linear(2048, 256)
        self.class_head, self.leak_head = nn.Linear(256, 2), nn.Linear(256, 1)

    def forward(self, segments):
        maps = F.max_pool2d(F.relu(self.conv2(F.relu(self.conv1(segments)))), (2, 1))
        maps = F.adaptive_avg_pool2d(F.max_pool2d(F.relu(self.conv3(maps)), (2, 1)), (16, 1))
        features = F.relu(self.linear(maps.flatten(1)))
        return self.class_head(features), self.leak_head(features).squeeze(1)


def focal_loss(logits, target):
    """Gamma 2, alpha 1."""
    losses = F.cross_entropy(logits, target, reduction="none")
    return ((1 - torch.exp(-losses)) ** 2 * losses).mean()


class Glaucoma:
    input_shape, classes = (3, 16, 16), 5
    sizes = {"batches": (32,), "windows": (28, 24)}
    clip = None
    network = staticmethod(glaucoma_network)

    def class_counts(self):
        return None

    def loss(self, output, target, present):
        return focal_loss(output[present], target[present])

    def schedule(self, optimizer, mode):
        """The plateau's rate stays within an epoch; else one cycle, up and down again, with fixed momenta."""
        if mode == "batches":
            return torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)
        return torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-3, total_steps=STEPS, cycle_momentum=False)


class Leak:
    input_shape, classes = (1, 64, 5), 2
    sizes = {"batches": (32,), "windows": (20, 12)}
    clip = 1.0
    network = LeakNetwork

    def class_counts(self):
        return torch.tensor([29, 11])

    def loss(self, output, target, present):
        """Inverse frequencies, the leak's times 2.5, with mean one and in float32 as the job keeps them."""
        logits, leak = output
        frequency = self.class_counts().double() / self.class_counts().sum()
        weights = torch.tensor([1.0, 2.5], dtype=torch.float64) / frequency
        weights = (weights / weights.mean()).float().to(logits.dtype)
        main = F.cross_entropy(logits[present], target[present], weight=weights)
        return main + 0.3 * F.binary_cross_entropy_with_logits(leak[present], (target[present] == 1).to(leak.dtype))

    def schedule(self, optimizer, mode):
        """Six steps up from a tenth of the rate, then half a cosine down to 1e-6 at step 20."""
        up = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=6)
        down = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=STEPS - 6, eta_min=1e-6)
        return torch.optim.lr_scheduler.SequentialLR(optimizer, [up, down], milestones=[6])


def draw_weights(network, generator):
    """Away from what a fresh network has, so that each parameter matters from the first step on."""
    for name, parameter in network.named_parameters():
        if parameter.dim() > 1:
            values = torch.randn(parameter.shape, generator=generator) * math.sqrt(1 / parameter[0].numel())
        else:
            centre = 1.0 if "norm" in name and name.endswith("weight") else 0.0
            values = centre + torch.rand(parameter.shape, generator=generator) - 0.5
        parameter.data.copy_(values)


def draw_batches(job, mode, generator):
    """Noise and a pattern of each class. Absent rows hold what would change the loss."""
    patterns = torch.randn((job.classes, *job.input_shape), generator=generator)
    steps = []
    for _ in range(STEPS):
        parts = []
        for part, size in enumerate(job.sizes[mode]):
            target = torch.randint(job.classes, (size,), generator=generator)
            values = torch.randn((size, *job.input_shape), generator=generator) + patterns[target]
            present = torch.ones(size, dtype=torch.bool)
            if part == 1:
                present[torch.randperm(size, generator=generator)[: size // 3]] = False
            parts.append((values, target, present))
        steps.append(parts)
    return steps


def batch_tensors(job, steps):
    tensors = {}
    for step, parts in enumerate(steps):
        for part, (values, target, present) in enumerate(parts):
            tensors |= {f"{step}.{part}.input": values, f"{step}.{part}.target": target}
            if not present.all():
                tensors[f"{step}.{part}.present"] = present
    if job.class_counts() is not None:
        tensors["class_counts"] = job.class_counts()
    return tensors


def state_tensors(network, optimizer):
    tensors = {f"network/{name}": tensor for name, tensor in network.state_dict().items()}
    for name, parameter in network.named_parameters():
        state = optimizer.state.get(parameter, {})
        for key, empty in (("exp_avg", parameter), ("exp_avg_sq", parameter), ("step", torch.zeros(()))):
            tensors[f"optimizer/{name}.{key}"] = state.get(key, torch.zeros_like(empty))
    return tensors


def train(job, mode, start, steps, dtype, before_step):
    network = job.network()
    network.load_state_dict(start)
    network = network.to(dtype=dtype, memory_format=torch.channels_last).train()
    parameters = list(network.parameters())
    optimizer = torch.optim.AdamW(
        [{"params": [p for p in parameters if p.dim() > 1], "weight_decay": 0.01},
         {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0}],
        lr=1e-3, betas=(0.9, 0.999), eps=1e-8, foreach=False)
    schedule = job.schedule(optimizer, mode)
    losses, rates = [], []
    for step, parts in enumerate(steps):
        before_step(step, network, optimizer)
        rates.append(optimizer.param_groups[0]["lr"])
        rows = sum(int(present.sum()) for _, _, present in parts)
        total = 0.0
        optimizer.zero_grad()
        for values, target, present in parts:
            output = network(values.to(dtype, memory_format=torch.channels_last))
            loss = job.loss(output, target, present) * (int(present.sum()) / rows)
            loss.backward()
            total += loss.item()
        if job.clip is not None:
            nn.utils.clip_grad_norm_(parameters, job.clip)
        optimizer.step()
        schedule.step()
        losses.append(total)
    before_step(len(steps), network, optimizer)
    return losses, rates


def main(name, mode, folder):
    torch.set_num_threads(1)
    job = {"glaucoma": Glaucoma, "leak": Leak}[name]()
    generator = torch.Generator().manual_seed(11)
    network = job.network()
    draw_weights(network, generator)
    start = {key: value.clone() for key, value in network.state_dict().items()}
    steps = draw_batches(job, mode, generator)
    write_safetensors(folder / "batches.safetensors", batch_tensors(job, steps))

    def save(step, network, optimizer):
        write_safetensors(folder / f"state-{step}.safetensors", state_tensors(network, optimizer))

    single, rates = train(job, mode, start, steps, torch.float32, save)
    double, _ = train(job, mode, start, steps, torch.float64, lambda *_: None)
    write_safetensors(folder / "losses.safetensors", {
        key: torch.tensor(values, dtype=torch.float64)
        for key, values in (("float32", single), ("float64", double), ("rates", rates))})


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
