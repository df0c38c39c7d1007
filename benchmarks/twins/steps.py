"""Training steps of our networks in PyTorch, on a batch that lies on the device: what mechanics_benchmark asks for line by
line. "parameters" is their number, "bf16 channels-last 20" the samples a second of 20 steps."""

import argparse
import sys
import time

import torch
from torch import nn

from learning import leak_loss, optimiser_of
from measure import synchronise
from networks import LeakCNN, ResNet50

HALF = {"bf16": torch.bfloat16, "fp16": torch.float16}


def network_of(args):
    return LeakCNN() if args.network == "leak_cnn" else ResNet50(width=0.125 if args.dry else 1.0)


def batch_of(args):
    torch.manual_seed(7)
    side = 64 if args.dry else 224
    sizes, classes = ((1, 64, 5), 2) if args.network == "leak_cnn" else ((3, side, side), 1000)
    return torch.rand(args.batch, *sizes), torch.randint(classes, (args.batch,))


class Trainee:
    """A network and its step: AdamW in one kernel, gradients clipped, the loss scaled in fp16; nothing waits for the device."""

    def __init__(self, args, precision, layout):
        format = torch.channels_last if layout == "channels-last" else torch.contiguous_format
        inputs, self.target = (part.to(args.device) for part in batch_of(args))
        self.inputs = inputs.contiguous(memory_format=format)
        self.network = network_of(args).to(args.device, memory_format=format)
        self.optimiser = optimiser_of(self.network)
        self.scaler = torch.amp.GradScaler(args.device, enabled=precision == "fp16")
        self.weights = torch.ones(2, device=args.device) if args.network == "leak_cnn" else None
        self.args, self.precision = args, precision

    def loss(self):
        half = HALF.get(self.precision)
        with torch.autocast(self.args.device, half or torch.bfloat16, enabled=half is not None):
            output = self.network(self.inputs)
            if self.weights is not None:
                return leak_loss(output, self.target, self.weights)
            return nn.functional.cross_entropy(output.float(), self.target)

    def step(self):
        self.scaler.scale(self.loss()).backward()
        self.scaler.unscale_(self.optimiser)
        nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.scaler.step(self.optimiser)
        self.scaler.update()
        self.optimiser.zero_grad(set_to_none=True)

    def rate(self, steps):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = self.precision == "tf32"
        self.step()
        synchronise(torch.device(self.args.device))
        begun = time.perf_counter()
        for _ in range(steps):
            self.step()
        synchronise(torch.device(self.args.device))
        return steps * self.args.batch / (time.perf_counter() - begun)


def answer(args, known, line):
    if line == "parameters":
        return sum(parameter.numel() for parameter in network_of(args).parameters())
    precision, layout, steps = line.split()
    if (precision, layout) not in known:
        known[precision, layout] = Trainee(args, precision, layout)
    return known[precision, layout].rate(int(steps))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", choices=["resnet50", "leak_cnn"], default="resnet50")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--dry", action="store_true", help="small steps on the CPU")
    args = parser.parse_args()
    args.device = "cpu" if args.dry else "cuda"
    known = {}
    for line in sys.stdin:
        try:
            said = answer(args, known, line.strip())
        except (AssertionError, RuntimeError) as error:  # as PyTorch says that it cannot
            said = f"missing: {str(error).splitlines()[0]}"
        print(said, flush=True)


if __name__ == "__main__":
    main()
