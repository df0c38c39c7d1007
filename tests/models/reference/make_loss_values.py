#!/usr/bin/env python3
"""Prints tests/models/reference/loss_values.h: losses and metrics by PyTorch 2.11.0, MONAI 1.6.1,
nnU-Net 2.8.1 and scikit-learn 1.9.1, of inputs that C++ makes of the same integers
(loss_inputs.h). Run once:

    pip install --no-deps nnunetv2==2.8.1 monai==1.6.1; pip install scikit-learn==1.9.1 torch==2.11.0
    make_loss_values.py > loss_values.h
"""
import numpy as np
import torch
import torch.nn.functional as F
from monai.losses import DiceLoss, FocalLoss
from nnunetv2.training.loss.dice import SoftDiceLoss
from sklearn import metrics

IGNORE = 255


def values(shape, seed):
    i = np.arange(np.prod(shape))
    return torch.tensor(((i * 7919 + seed * 104729) % 1009) / 1009 * 6 - 3).view(shape)


def classes(shape, count, seed):
    i = np.arange(np.prod(shape))
    return torch.tensor((i * 31 + i // 7 + seed * 17) % 97 % count).view(shape)


def with_ignored(target):
    kept = target.clone()
    kept.view(-1)[::13] = IGNORE
    return kept


def show(name, value):
    print(f"constexpr double {name} = {float(value):.15g};")


def show_all(name, all_values):
    text = ", ".join(f"{float(v):.15g}" for v in all_values)
    print(f"constexpr double {name}[] = {{{text}}};")


def pixel_losses():
    weights = torch.tensor([0.5, 1.0, 2.0, 3.0], dtype=torch.float64)
    z, y = values((2, 4, 5, 6), 1), with_ignored(classes((2, 5, 6), 4, 2))
    show("ce_plane", F.cross_entropy(z, y, ignore_index=IGNORE))
    show("ce_plane_weighted", F.cross_entropy(z, y, weights, ignore_index=IGNORE))
    show("ce_plane_smoothed", F.cross_entropy(z, y, ignore_index=IGNORE, label_smoothing=0.1))
    v, t = values((2, 3, 4, 3, 5), 3), classes((2, 4, 3, 5), 3, 4)
    show("ce_volume", F.cross_entropy(v, t))
    # MONAI's mean is over the classes, too, of which but one has a loss.
    focal = FocalLoss(gamma=2.0, use_softmax=True, to_onehot_y=True)
    show("focal_volume", 3 * focal(v, t.unsqueeze(1)))


def binary_losses():
    z, y = values((6, 5), 5), classes((6, 5), 2, 6).double()
    positive = torch.tensor([1.0, 2.0, 0.5, 4.0, 1.5], dtype=torch.float64)
    show("bce_labels", F.binary_cross_entropy_with_logits(z, y, pos_weight=positive))
    show("bce_focal", FocalLoss(gamma=2.0)(z, y))
    m, t = values((2, 1, 5, 6), 7), with_ignored(classes((2, 1, 5, 6), 2, 8))
    counts = t != IGNORE
    each = F.binary_cross_entropy_with_logits(m, t.double() * counts, reduction="none")
    show("bce_mask_ignored", each[counts].mean())


def dice(logits, target, batch, background, mask=None, nonlin=None):
    loss = SoftDiceLoss(nonlin or (lambda x: x.softmax(1)), batch, background, 1e-5, ddp=False)
    return 1 + loss(logits, target, mask)


def region_losses():
    z, y = values((3, 4, 5, 6), 9), classes((3, 5, 6), 4, 10)
    show("dice_rows", dice(z, y, False, True))
    show("dice_rows_foreground", dice(z, y, False, False))
    show("dice_batch", dice(z, y, True, True))
    ignored = with_ignored(y)
    mask = (ignored != IGNORE).unsqueeze(1)
    show("dice_batch_ignored", dice(z, torch.where(mask[:, 0], y, 0), True, False, mask))
    show("dice_rows_ignored", dice(z, torch.where(mask[:, 0], y, 0), False, True, mask))
    m, t = values((2, 2, 3, 4, 5), 11), classes((2, 2, 3, 4, 5), 2, 12)
    show("dice_regions", dice(m, t, False, True, nonlin=torch.sigmoid))
    # Twice the numerator and the denominator of the IoU: so twice what smooths.
    iou = dict(jaccard=True, smooth_nr=2e-5, smooth_dr=2e-5)
    show("iou_rows", DiceLoss(softmax=True, to_onehot_y=True, **iou)(z, y.unsqueeze(1)))
    show("iou_regions", DiceLoss(sigmoid=True, batch=True, **iou)(m, t.double()))


def class_metrics():
    # Five classes of which the last but one is never there and the last never predicted.
    y = classes((60,), 4, 13)
    y[y == 3] = 4
    p = values((60, 5), 14).float().softmax(1)
    p[:, 4] = 0
    k = p.argmax(1)
    labels = list(range(5))
    each = dict(labels=labels, average=None, zero_division=0)
    show_all("class_precision", metrics.precision_score(y, k, **each))
    show_all("class_recall", metrics.recall_score(y, k, **each))
    show_all("class_f1", metrics.f1_score(y, k, **each))
    show_all("class_iou", metrics.jaccard_score(y, k, **each))
    show("class_accuracy", metrics.accuracy_score(y, k))
    show("class_balanced_accuracy", metrics.recall_score(y, k, labels=y.unique(), average="macro"))
    show("class_macro_f1", metrics.f1_score(y, k, average="macro"))
    show("class_mean_iou", metrics.jaccard_score(y, k, average="macro", zero_division=0))
    show("class_weighted_f1", metrics.f1_score(y, k, average="weighted"))
    show("class_qwk", metrics.cohen_kappa_score(y, k, labels=labels, weights="quadratic"))
    y, p = classes((60,), 7, 15), values((60, 7), 16).float()
    show("class_auc", np.mean([metrics.roc_auc_score(y == k, p[:, k]) for k in range(7)]))
    show("class_top5", metrics.top_k_accuracy_score(y, p, k=5, labels=list(range(7))))


def label_metrics():
    y, p = classes((40, 4), 2, 17), torch.sigmoid(values((40, 4), 18).float())
    y[:, 3] = 0
    k = p >= 0.5
    k[:, 3] = False
    p[:, 3] = p[:, 3] / 4
    show("label_macro_f1", metrics.f1_score(y, k, average="macro", zero_division=np.nan))
    show("label_micro_f1", metrics.f1_score(y, k, average="micro"))
    show("label_exact_match", metrics.accuracy_score(y, k))
    show("label_auc", metrics.roc_auc_score(y[:, :3], p[:, :3], average="macro"))
    best = []
    for c in range(3):
        precision, recall, _ = metrics.precision_recall_curve(y[:, c], p[:, c])
        best.append(np.max(2 * precision * recall / np.maximum(precision + recall, 1e-12)))
    show_all("label_best_f1", best)
    fpr, tpr, _ = metrics.roc_curve(y[:, 0], p[:, 0], drop_intermediate=False)
    show("label_best_balanced_accuracy", np.max(tpr + 1 - fpr) / 2)


print("""#pragma once

// Made by make_loss_values.py, which says by which libraries; not to be edited.
namespace headrace::test::reference {
""")
for part in (pixel_losses, binary_losses, region_losses, class_metrics, label_metrics):
    part()
print("\n}  // namespace headrace::test::reference")
