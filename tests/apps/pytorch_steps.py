"""Twenty training steps of a job in PyTorch, for tests/apps/<job>/<job>_pytorch_test.cpp.

    python3 pytorch_steps.py JOB[:CLASS] batches|windows FOLDER

Networks, losses and schedules are those of class Job, or another, of <job>/pytorch_job.py, and as the optimiser PyTorch's own: put together from
the jobs' description and not from the C++ code, whose names of parameters they share. Nothing is dropped out, one thread computes, all values are drawn as
float32 from a seeded generator, so that float64 begins from the same numbers. `windows` makes each step of two
micro-batches of unequal size, one with rows that do not count. Into FOLDER go, as safetensors,

    batches    <step>.<part>.input, .target and, where rows are absent, .present; class_counts of the leak job
    state-<k>  network/* and optimizer/* before step k of the float32 run; state-20 is its end
    losses     float32 and float64: mean loss of each step over the rows that count; rates: learning rates
"""

import ctypes
import importlib
import json
import math
import struct
import sys
from pathlib import Path

import torch
from torch import nn

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


def draw_weights(network, generator):
    """Away from what a fresh network has, so that each parameter matters from the first step on."""
    scales = {f"{name}.weight" for name, module in network.named_modules()
              if isinstance(module, nn.modules.batchnorm._BatchNorm)}
    for name, parameter in network.named_parameters():
        if parameter.dim() > 1:
            values = torch.randn(parameter.shape, generator=generator) * math.sqrt(1 / parameter[0].numel())
        else:
            centre = 1.0 if name in scales else 0.0
            values = centre + torch.rand(parameter.shape, generator=generator) - 0.5
        parameter.data.copy_(values)


def draw_batches(job, mode, generator):
    """Noise and a pattern of each class. Absent rows hold what would change the loss."""
    patterns = torch.randn((job.classes, *job.input_shape), generator=generator)
    masks = getattr(job, "masks", None)
    steps = []
    for _ in range(STEPS):
        parts = []
        for part, size in enumerate(job.sizes[mode]):
            target = torch.randint(job.classes, (size,), generator=generator)
            values = torch.randn((size, *job.input_shape), generator=generator) + patterns[target]
            if masks is not None:
                target = masks(target)
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
    schedule = job.schedule(optimizer, mode, STEPS)
    losses, rates = [], []
    for step, parts in enumerate(steps):
        before_step(step, network, optimizer)
        rates.append(optimizer.param_groups[0]["lr"])
        weight_of = getattr(job, "weight", lambda target, present: present.sum())
        weights = [float(weight_of(target, present)) for _, target, present in parts]
        total = 0.0
        optimizer.zero_grad()
        for (values, target, present), weight in zip(parts, weights):
            output = network(values.to(dtype, memory_format=torch.channels_last))
            loss = job.loss(output, target, present) * (weight / sum(weights))
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
    sys.dont_write_bytecode = True
    folder_of_job, _, kind = name.partition(":")
    job = getattr(importlib.import_module(f"{folder_of_job}.pytorch_job"), kind or "Job")()
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
