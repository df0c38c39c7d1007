"""The voxels of the data set that nnunet_raw_files.h makes."""
import numpy as np


def voxels(case):
    """Two channels and a label: see nnunet_raw_files.h."""
    shape = (9 + case, 20 + 2 * case, 24 - case)
    z, y, x = np.indices(shape)
    body = (z >= 1) & (z < shape[0] - 1) & (y >= 3) & (y < shape[1] - 2) & (x >= 2) & (x < shape[2] - 1)
    hole = (z >= 3) & (z < 5) & (y >= 8) & (y < 11) & (x >= 9) & (x < 13)
    body &= ~hole
    first = np.where(body, (x * 7 + y * 13 + z * 31 + case * 17) % 401 - 100, 0).astype(np.int16)
    second = np.where(body, (x * y + 3 * z + case) % 97 * 0.25, 0).astype(np.float32)
    label = np.zeros(shape, np.uint8)
    if case < 3:
        label[2:6, 5:12, 5:14] = 1
        label[4:7, 6:9, 3:6] = 2
        label[0, 0, 0] = 1
    return first, second, label
