#!/usr/bin/env python3
"""Makes torchvision_values.inc: what torchvision makes of small pictures.

Run once with torch 2.11.0 and torchvision 0.26.0:  python3 torchvision_values.py > torchvision_values.inc
picture() and noise() are those of pixels.h.
"""
import torch
from torchvision import tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

NEAREST, BILINEAR = v2.InterpolationMode.NEAREST, v2.InterpolationMode.BILINEAR


def picture(width, height, channels, seed=1):
    pixels, state = [], (seed * 2654435761 + 1) % 2**32
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                state = (state * 1664525 + 1013904223) % 2**32
                v = (x * (3 + c) + y * (5 - c) + seed * 40) % 256
                v = 2 * v if v < 128 else 511 - 2 * v
                if x + y > (width + height) // 2:
                    v = 255 - v
                pixels.append(min(max(v + (state >> 28) - 8, 0), 255))
    return chw(pixels, width, height, channels)


def noise(width, height, channels, seed=1):
    pixels, state = [], seed
    for _ in range(width * height * channels):
        state = (state * 1664525 + 1013904223) % 2**32
        pixels.append(state >> 24)
    return chw(pixels, width, height, channels)


def chw(pixels, width, height, channels):
    return torch.tensor(pixels, dtype=torch.uint8).view(height, width, channels).permute(2, 0, 1)


def show(name, image):
    values = image.permute(1, 2, 0).flatten().tolist()
    print(f"const Pixels {name} = {{")
    for i in range(0, len(values), 24):
        print("    " + ", ".join(str(v) for v in values[i : i + 24]) + ",")
    print("};")


def main():
    print("// Made by torchvision_values.py; clang-format off\n#pragma once")
    colours, grey = noise(13, 9, 3), noise(13, 9, 1)
    waves = picture(13, 11, 3)
    show("brighter", F.adjust_brightness(colours, 1.37))
    show("darker", F.adjust_brightness(grey, 0.4))
    show("more_contrast", F.adjust_contrast(colours, 1.6))
    show("less_contrast", F.adjust_contrast(grey, 0.3))
    show("more_saturation", F.adjust_saturation(colours, 1.8))
    show("less_saturation", F.adjust_saturation(colours, 0.25))
    show("hue_forward", F.adjust_hue(colours, 0.18))
    show("hue_back", F.adjust_hue(waves, -0.4))
    jittered = F.adjust_saturation(F.adjust_contrast(F.adjust_hue(waves, 0.1), 0.8), 1.3)
    show("jittered", F.adjust_brightness(jittered, 1.2))

    # RandAugment at magnitude 9 of 31; signed ones negative where the name says so.
    augment = v2.RandAugment()
    fills = augment._fill
    def apply(op, magnitude, image, mode=NEAREST, fill=fills):
        return augment._apply_image_or_video_transform(image, op, magnitude, interpolation=mode, fill=fill)
    space = {k: f(31, 11, 13) for k, (f, _) in augment._AUGMENTATION_SPACE.items()}
    at = lambda op, i=9: float(space[op][i])
    show("shear_x_negative", apply("ShearX", -at("ShearX"), waves))
    show("shear_x_bilinear", apply("ShearX", at("ShearX"), waves, BILINEAR))
    show("shear_y", apply("ShearY", at("ShearY", 19), waves))
    show("translate_x", apply("TranslateX", at("TranslateX"), waves))
    show("translate_y_negative", apply("TranslateY", -at("TranslateY", 20), waves))
    show("rotate_9", apply("Rotate", at("Rotate"), waves))
    show("brightness_9", apply("Brightness", at("Brightness"), colours))
    show("color_9_negative", apply("Color", -at("Color"), colours))
    show("contrast_9", apply("Contrast", at("Contrast"), colours))
    show("sharpness_9", apply("Sharpness", at("Sharpness"), colours))
    show("sharpness_20_negative", apply("Sharpness", -at("Sharpness", 20), colours))
    show("posterize_9", apply("Posterize", at("Posterize"), colours))
    show("posterize_30", apply("Posterize", at("Posterize", 30), colours))
    show("solarize_9", apply("Solarize", at("Solarize"), colours))
    show("autocontrast_9", apply("AutoContrast", 0.0, waves))
    show("equalize_9", apply("Equalize", 0.0, picture(31, 27, 1)))

    show("affine_nearest", F.affine(waves, 17.0, [2, -1], 1.2, [8.0, -5.0], NEAREST, fill=0))
    show("affine_bilinear", F.affine(waves, -31.0, [-1, 2], 0.7, [-12.0, 6.0], BILINEAR, fill=50))
    mask = tv_tensors.Mask(noise(13, 11, 1, seed=5) // 50)
    show("affine_mask", F.affine(mask, 17.0, [2, -1], 1.2, [8.0, -5.0], fill=7).as_subclass(torch.Tensor))

    show("blur_5_3", F.gaussian_blur(colours, [5, 3], [1.3]))
    show("blur_7_7", F.gaussian_blur(colours, [7, 7], [0.5]))
    show("blur_13_17", F.gaussian_blur(colours, [17, 13], [4.0]))
    value = torch.tensor([10.0, 200.0, 77.0])[:, None, None]
    show("erased", F.erase(colours, 2, 3, 5, 4, value))

    # Mixup of a group of three on float pictures, as torchvision asks, then rounded.
    group = torch.stack([noise(5, 4, 3, seed) for seed in (1, 2, 3)])
    mixed = v2.MixUp(num_classes=4).transform(
        group.float(), dict(labels=torch.tensor([0, 3, 1]), batch_size=3, lam=0.3))
    show("mixed", torch.cat(list(mixed.round().to(torch.uint8)), dim=1))


main()
