#!/usr/bin/env python3
"""Writes audio_reference.inc: values of torch and torchaudio that the tests of SpecAugment, LogMel and
resampling compare with. Run once with torch 2.11.0 and torchaudio 2.11.0:

    python3 make_audio_reference.py > audio_reference.inc
"""
import torch
import torchaudio


def noise(count, seed):
    """What test::noise() gives: the upper bits of a linear congruential generator, in [-1, 1)."""
    state, values = seed, []
    for _ in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        values.append((state >> 8) / 2**23 - 1)
    return torch.tensor(values, dtype=torch.float64)


def wave(count):
    """What test::wave() gives: a sawtooth of 256 Hz at 4096 Hz, every second half louder, and noise."""
    n = torch.arange(count)
    saw = (n % 16).double() / 8 - 1
    return ((0.2 + 0.6 * ((n // 512) % 2)) * saw + 0.05 * noise(count, 7)).float()


def emit(name, values):
    flat = [f"{v:.9g}F" for v in values.flatten().tolist()]
    flat = [v if "." in v or "e" in v else v.replace("F", ".0F") for v in flat]
    print(f"inline constexpr float {name}[] = {{")
    for i in range(0, len(flat), 8):
        print("    " + ", ".join(flat[i:i + 8]) + ",")
    print("};")


def warped(x, point, moved):
    """Both sides of the point stretched on their own, their ends kept (align_corners)."""
    def stretch(part, size):
        return torch.nn.functional.interpolate(part[None], size=size, mode="linear", align_corners=True)[0]
    left = stretch(x[:, :point + 1], moved + 1)
    right = stretch(x[:, point:], x.shape[1] - moved)
    return torch.cat([left, right[:, 1:]], 1)


def mask_counts(param, size, p, draws):
    """How often each (width, start) is drawn for one axis, rows by width."""
    torch.manual_seed(1)
    ones = torch.ones(draws, 1, 1, size)
    masked = torchaudio.functional.mask_along_axis_iid(ones, param, 0.0, 3, p)
    zero = masked[:, 0, 0] == 0
    width = zero.sum(1)
    start = torch.where(width > 0, zero.int().argmax(1), 0)
    counts = torch.zeros(param + 1, size, dtype=torch.long)
    counts.index_put_((width, start), torch.ones(draws, dtype=torch.long), accumulate=True)
    return counts


print("// Made by make_audio_reference.py with torch", torch.__version__, "and torchaudio",
      torchaudio.__version__ + ".\n#pragma once")
source = noise(2 * 23, 3).reshape(2, 23)
for point, moved in ((8, 5), (8, 12), (15, 22), (9, 9)):
    emit(f"warped_{point}_{moved}", warped(source, point, moved).float())

counts = mask_counts(5, 12, 1.0, 1_000_000)
print("// mask_along_axis_iid(param 5, 12 cells): how often a mask has width (row) and start (column); masks")
print("// of width 0 cannot be seen and stand at start 0.")
print("inline constexpr std::int64_t torchaudio_masks[6][12] = {")
for row in counts.tolist():
    print("    {" + ", ".join(map(str, row)) + "},")
print("};")

mel = torchaudio.transforms.MelSpectrogram(sample_rate=4096, n_fft=512, hop_length=128, n_mels=64, f_min=0.0,
                                           f_max=2048.0, power=1.0)
for count in (512, 1000):
    emit(f"log_mel_{count}", 20 * torch.log10(torch.clamp(mel(wave(count)), min=1e-10)))
power = torchaudio.transforms.MelSpectrogram(sample_rate=4096, n_fft=256, win_length=200, hop_length=100,
                                             n_mels=20, f_min=50.0, f_max=1800.0, power=2.0)
emit("log_mel_power", 10 * torch.log10(torch.clamp(power(wave(700)), min=1e-10)))

emit("resampled_8000_4096", torchaudio.functional.resample(wave(400), 8000, 4096))
emit("resampled_4096_16000", torchaudio.functional.resample(wave(60), 4096, 16000))
