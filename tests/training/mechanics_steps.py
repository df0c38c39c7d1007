"""A hundred optimiser steps of PyTorch with given gradients, for tests/training/mechanics_test.cpp.

    python3 mechanics_steps.py FOLDER CASE...

The loss of step k is the sum of parameters times given numbers, so that these numbers are the gradients. Three parameters:
`body.weight` [6, 4] decays, `body.bias` [6] does not, `head.weight` [3, 6] decays by its own amount at a tenth of the rate. CASE is
OPTIMISER-SCHEDULE of adamw, adam, sgd, nesterov and constant, cosine, one-cycle, cycled (one-cycle with the momentum), polynomial,
step, plateau; the global norm is clipped at 2 behind the scaler of `scaled`, a further word, under which a few gradients are not
finite. Of each case two files, CASE-float64.safetensors and CASE-float32.safetensors:

    gradients/<parameter>   [100, ...]
    weights/<parameter>     [101, ...] before each step, and the end; ema/<parameter> likewise: the average
    state/<k>/<name>        float32: the optimiser's before step k
    rates [100, 3], momentum [100], scale [101], metrics [10]: of every tenth step
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "apps"))

import torch
from pytorch_steps import write_safetensors
from torch.optim import lr_scheduler

STEPS, EPOCH, RATE, DECAY, EMA = 100, 10, 0.02, 0.05, 0.95
BAD = (3, 17, 18, 60)
SHAPES = {"body.weight": (6, 4), "body.bias": (6,), "head.weight": (3, 6)}


def make_optimizer(name, groups):
    if name == "adamw":
        return torch.optim.AdamW(groups, lr=RATE)
    if name == "adam":
        return torch.optim.Adam(groups, lr=RATE)
    return torch.optim.SGD(groups, lr=RATE, momentum=0.9, nesterov=name == "nesterov")


def make_schedule(name, optimizer):
    rates = [group["lr"] for group in optimizer.param_groups]
    if name in ("one-cycle", "cycled"):
        return lr_scheduler.OneCycleLR(optimizer, rates, total_steps=STEPS, pct_start=0.3, div_factor=25, final_div_factor=1e4,
                                       cycle_momentum=name == "cycled")
    if name == "cosine":
        warm = lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=2 * EPOCH)
        fall = lr_scheduler.CosineAnnealingLR(optimizer, STEPS - 2 * EPOCH, eta_min=1e-5)
        return lr_scheduler.SequentialLR(optimizer, [warm, fall], [2 * EPOCH])
    if name == "polynomial":
        return lr_scheduler.PolynomialLR(optimizer, STEPS, power=0.9)
    if name == "step":
        return lr_scheduler.StepLR(optimizer, 3 * EPOCH, gamma=0.3)
    if name == "plateau":
        return lr_scheduler.ReduceLROnPlateau(optimizer, mode="max", factor=0.4, patience=1, cooldown=1, min_lr=5e-4)
    return lr_scheduler.ConstantLR(optimizer, factor=1.0)


def momentum_of(optimizer):
    group = optimizer.param_groups[0]
    return group["betas"][0] if "betas" in group else group["momentum"]


def state_of(optimizer, parameters):
    state = {}
    for name, parameter in parameters.items():
        for key, value in optimizer.state[parameter].items():
            if value is not None:
                state[f"{name}.{key}"] = value.clone()
    return state


def run(case, kind, folder):
    optimiser, schedule_name = case.replace("-scaled", "").split("-", 1)
    scaled = case.endswith("-scaled")
    dtype = getattr(torch, kind)
    generator = torch.Generator().manual_seed(17)
    gradients = {name: torch.randn((STEPS, *shape), generator=generator).to(dtype) for name, shape in SHAPES.items()}
    metrics = torch.rand(STEPS // EPOCH, generator=generator).double()
    if scaled:
        for step in BAD:
            gradients["body.weight"][step, 0, 0] = torch.inf
    parameters = {name: torch.nn.Parameter(torch.randn(shape, generator=generator).to(dtype)) for name, shape in SHAPES.items()}
    optimizer = make_optimizer(optimiser, [
        {"params": [parameters["body.weight"]], "weight_decay": DECAY},
        {"params": [parameters["body.bias"]], "weight_decay": 0.0},
        {"params": [parameters["head.weight"]], "weight_decay": 2 * DECAY, "lr": RATE / 10}])
    schedule = make_schedule(schedule_name, optimizer)
    scaler = torch.amp.GradScaler("cpu", growth_interval=8, enabled=scaled)
    average = {name: value.detach().clone() for name, value in parameters.items()}

    weights = {name: [value.detach().clone()] for name, value in parameters.items()}
    ema = {name: [value.clone()] for name, value in average.items()}
    rates, momenta, scales, out, updates = [], [], [scaler.get_scale()], {}, 0
    for step in range(STEPS):
        rates.append([group["lr"] for group in optimizer.param_groups])
        momenta.append(momentum_of(optimizer))
        if kind == "float32":
            for name, value in state_of(optimizer, parameters).items():
                out[f"state/{step}/{name}"] = value
        optimizer.zero_grad()
        loss = sum((parameters[name] * gradients[name][step]).sum() for name in SHAPES)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(parameters.values(), 2.0)
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        if not scaled or scaler.get_scale() >= before:
            decay = min(EMA, 1 - (1 + updates) ** (-2 / 3))
            for name in average:
                average[name].lerp_(parameters[name].detach(), 1 - decay)
            updates += 1
            if schedule_name != "plateau":
                schedule.step()
        if schedule_name == "plateau" and (step + 1) % EPOCH == 0:
            schedule.step(metrics[step // EPOCH].item())
        for name in SHAPES:
            weights[name].append(parameters[name].detach().clone())
            ema[name].append(average[name].clone())
    for name in SHAPES:
        out[f"gradients/{name}"] = gradients[name]
        out[f"weights/{name}"] = torch.stack(weights[name])
        out[f"ema/{name}"] = torch.stack(ema[name])
    out["rates"] = torch.tensor(rates, dtype=torch.float64)
    out["momentum"] = torch.tensor(momenta, dtype=torch.float64)
    out["scale"] = torch.tensor(scales, dtype=torch.float64)
    out["metrics"] = metrics
    write_safetensors(folder / f"{case}-{kind}.safetensors", out)


torch.set_num_threads(1)
for case in sys.argv[2:]:
    for kind in ("float64", "float32"):
        run(case, kind, Path(sys.argv[1]))
