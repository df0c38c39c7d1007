"""Files for tests/models/script_refusals_test.cpp: python3 script_files.py FOLDER"""

import sys
import warnings
import zipfile
from pathlib import Path

import torch
from torch import nn

warnings.filterwarnings("ignore")


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(4, 4)
        self.register_buffer("position", torch.ones(4), persistent=False)

    def forward(self, x):
        return self.head(self.drop(self.norm(self.conv(x)).mean((2, 3)) + self.position))


class Tuple(Plain):
    def forward(self, x):
        y = self.head(self.norm(self.conv(x)).mean((2, 3)))
        return y, y * 2


class Dict(Plain):
    def forward(self, x):
        y = self.head(self.norm(self.conv(x)).mean((2, 3)))
        return {"aux": y * 2, "out": y}


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.first(x))


class BatchStatistics(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(3, track_running_stats=False)

    def forward(self, x):
        return self.norm(x)


def main(folder):
    torch.manual_seed(1)
    x = torch.randn(2, 3, 8, 8)
    net = Plain()
    torch.jit.script(net).save(folder / "plain.pt", _extra_files={"state_names": "\n".join(net.state_dict())})
    torch.jit.script(net).save(folder / "bare.pt")
    torch.jit.script(Tuple()).save(folder / "tuple.pt")
    torch.jit.script(Dict()).save(folder / "dict.pt")
    torch.jit.script(Tied()).save(folder / "tied.pt")
    torch.jit.script(BatchStatistics()).save(folder / "batch_statistics.pt")
    torch.jit.trace(Tied(), torch.randn(2, 3)).save(folder / "traced_without_modes.pt")
    torch.jit.trace(net, x, check_trace=False).save(folder / "traced_training.pt")
    torch.save(net, folder / "whole.pt")
    torch.save(net.state_dict(), folder / "weights.pt")
    torch.save({"model": net.state_dict(), "epoch": 3}, folder / "checkpoint.pt")
    torch.save(net.state_dict(), folder / "old_weights.pt", _use_new_zipfile_serialization=False)
    net.eval()
    torch.jit.trace(net, x).save(folder / "traced_evaluation.pt")
    torch.jit.freeze(torch.jit.script(net)).save(folder / "frozen.pt")
    torch.export.save(torch.export.export(net, (x,)), folder / "exported.pt2")
    for name, entry in (("any", "readme"), ("package", "version")):
        with zipfile.ZipFile(folder / f"{name}.zip", "w") as archive:
            archive.writestr(f"{name}/{entry}", "3")


main(Path(sys.argv[1]))
