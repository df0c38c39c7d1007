"""Training steps of a scripted network in eager PyTorch, for tests/training/script_steps_test.cpp.

    python3 script_steps.py NET FOLDER MODE STEPS [MODE STEPS]...
    python3 script_steps.py NET FOLDER check

NET is `small` or a name of timm's, MODE one of float64, float32 and bf16. Plain gradient descent on cross entropy, one thread, seeded
noise as images; dropout draws from PyTorch's generator, seeded again before the first step. Into FOLDER/MODE go

    net.pt                 torch.jit.script of the network as it begins
    batches.safetensors    <step>.input, <step>.target
    losses.safetensors     losses
    state-<k>.safetensors  state_dict before step k; state-<STEPS> is the end. float32: all; else: the end

`check` fails unless float64/trained.safetensors loads strictly into NET and gives the logits of float64/trained.pt.
"""

import json
import struct
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "apps"))
warnings.filterwarnings("ignore")

import torch
from pytorch_steps import write_safetensors
from torch import nn
from torch.nn import functional as F

CLASSES = 5
RATE = 0.02


class Block(nn.Module):
    """Depthwise convolution, then attention over channels, as EdgeNeXt has it."""

    def __init__(self, width):
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 3, padding=1, groups=width)
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.temperature = nn.Parameter(torch.ones(1))
        self.scale = nn.Parameter(torch.full((width,), 0.5))
        self.drop = nn.Dropout(0.1)

    def forward(self, x):
        height, width = x.shape[2], x.shape[3]
        y = self.norm(self.depthwise(x).flatten(2).transpose(1, 2))
        q, k, v = self.qkv(y).transpose(1, 2).chunk(3, dim=1)
        attention = (F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(1, 2)) * self.temperature
        y = self.drop(attention.softmax(-1) @ v) * self.scale.unsqueeze(1)
        return x + F.gelu(y).unflatten(2, (height, width))


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 4, stride=4)
        self.norm = nn.BatchNorm2d(16)
        self.blocks = nn.Sequential(Block(16), Block(16))
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(16, CLASSES)

    def forward(self, x):
        return self.head(self.drop(self.blocks(F.relu(self.norm(self.stem(x)))).mean((2, 3))))


def make(name):
    if name == "small":
        return Small(), 32
    import timm

    return timm.create_model(name, num_classes=CLASSES), 64


def read_safetensors(path):
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        dtype = {"F64": torch.float64, "I64": torch.int64}[entry["dtype"]]
        values = torch.frombuffer(bytearray(data[8 + length + begin : 8 + length + end]), dtype=dtype)
        tensors[name] = values.view(entry["shape"])
    return tensors


def check(name, folder):
    torch.set_num_threads(1)
    net, side = make(name)
    net = net.double().eval()
    net.load_state_dict(read_safetensors(folder / "trained.safetensors"), strict=True)
    script = torch.jit.load(folder / "trained.pt")
    assert not script.training
    x = torch.randn(4, 3, side, side, dtype=torch.float64)
    with torch.no_grad(), torch.jit.optimized_execution(False):
        assert torch.equal(net(x), script(x))


def main(name, mode, steps, folder):
    torch.set_num_threads(1)
    torch.manual_seed(3)
    net, side = make(name)
    if mode == "float64":
        net = net.double()
    dtype = next(net.parameters()).dtype
    batches = {}
    for step in range(steps):
        target = torch.randint(CLASSES, (8,))
        batches[f"{step}.input"] = torch.randn(8, 3, side, side).to(dtype) + target.view(-1, 1, 1, 1) * 0.3
        batches[f"{step}.target"] = target
    write_safetensors(folder / "batches.safetensors", batches)
    net.train()
    torch.jit.script(net).save(folder / "net.pt", _extra_files={"state_names": "\n".join(net.state_dict())})

    optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
    losses = []
    torch.manual_seed(4)
    for step in range(steps):
        if mode == "float32":
            write_safetensors(folder / f"state-{step}.safetensors", net.state_dict())
        with torch.autocast("cpu", torch.bfloat16, enabled=mode == "bf16"):
            loss = F.cross_entropy(net(batches[f"{step}.input"]), batches[f"{step}.target"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach().double())
    write_safetensors(folder / "losses.safetensors", {"losses": torch.stack(losses)})
    write_safetensors(folder / f"state-{steps}.safetensors", net.state_dict())


folder = Path(sys.argv[2])
if sys.argv[3] == "check":
    check(sys.argv[1], folder / "float64")
else:
    for mode, steps in zip(sys.argv[3::2], sys.argv[4::2], strict=True):
        (folder / mode).mkdir()
        main(sys.argv[1], mode, int(steps), folder / mode)
