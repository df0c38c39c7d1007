"""TorchIO's transforms, with nnU-Net's probabilities or all of them; labels by nearest."""

import torchio as tio

import common
import torch_patches


def log_gamma():
    return (-0.357, 0.405)  # logarithms of 0.7 and 1.5


def nnunet():
    return [tio.RandomAffine(scales=(0.7, 1.4), degrees=0, isotropic=True, default_pad_value=0, p=0.2),
            tio.RandomAffine(scales=0, degrees=30, default_pad_value=0, p=0.2),
            tio.RandomNoise(std=(0, 0.1), p=0.1),
            tio.RandomBlur(std=(0.5, 1), p=0.2 * 0.5),
            tio.RandomAnisotropy(axes=(0, 1, 2), downsampling=(1, 2), p=0.25 * 0.5),
            tio.RandomGamma(log_gamma(), p=0.1),
            tio.RandomGamma(log_gamma(), p=0.3),
            tio.RandomFlip((0, 1, 2), 0.5)]


def surface(patch):
    points = tuple(max(5, extent // 8) for extent in patch)
    return [tio.RandomAffine(scales=(0.7, 1.4), degrees=30, isotropic=True, default_pad_value=0),
            tio.RandomElasticDeformation(num_control_points=points, max_displacement=6),
            tio.RandomFlip((0, 1, 2), 0.5),
            tio.RandomNoise(std=(0, 0.1)),
            tio.RandomGamma(log_gamma())]


def main():
    args = common.arguments()
    steps = tio.Compose(nnunet() if args.work == "nnunet" else surface(args.patch))

    def transform(image, label):
        made = steps(tio.Subject(image=tio.ScalarImage(tensor=image), label=tio.LabelMap(tensor=label)))
        return (torch_patches.middle(made["image"].data, args.patch).float().contiguous(),
                torch_patches.middle(made["label"].data, args.patch).short().contiguous())

    torch_patches.serve(transform, args)


if __name__ == "__main__":
    main()
