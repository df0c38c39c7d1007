"""The networks of our C++ programs, layer by layer: names and shapes of all parameters are equal,
which `run check` compares."""

import torch
from torch import nn


def conv3x3(channels_in, channels_out):
    return nn.Conv2d(channels_in, channels_out, 3, padding=1)


class LeakCNN(nn.Module):
    """models/networks/leak_cnn.cpp."""

    def __init__(self, classes=2):
        super().__init__()
        self.conv1, self.conv2, self.conv3 = conv3x3(1, 32), conv3x3(32, 64), conv3x3(64, 128)
        self.dropout = nn.Dropout(0.25)
        self.linear = nn.Linear(128 * 16, 256)
        self.class_head = nn.Linear(256, classes)
        self.leak_head = nn.Linear(256, 1)
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                nn.init.zeros_(module.bias)

    def forward(self, segments):
        low = self.conv2(self.conv1(segments).relu_()).relu_()
        low = nn.functional.max_pool2d(low, (2, 1))
        high = nn.functional.max_pool2d(self.conv3(low).relu_(), (2, 1))
        pooled = nn.functional.adaptive_avg_pool2d(high, (16, 1)).flatten(1)
        features = self.linear(self.dropout(pooled)).relu_()
        return torch.cat([self.class_head(features), self.leak_head(features)], 1)


def scaled(channels, width):
    """models/networks/width.h."""
    return max(8, 8 * int(channels * width / 8 + 0.5))


def convolution(channels_in, channels_out, kernel, stride, relu):
    layers = [nn.Conv2d(channels_in, channels_out, kernel, stride, kernel // 2, bias=False),
              nn.BatchNorm2d(channels_out)]
    return nn.Sequential(*layers, *([nn.ReLU(inplace=True)] if relu else []))


class Bottleneck(nn.Module):
    def __init__(self, channels_in, width, stride):
        super().__init__()
        channels_out = 4 * width
        self.main = nn.Sequential(convolution(channels_in, width, 1, 1, True),
                                  convolution(width, width, 3, stride, True),
                                  convolution(width, channels_out, 1, 1, False))
        self.side = None
        if channels_in != channels_out or stride != 1:
            self.side = convolution(channels_in, channels_out, 1, stride, False)

    def forward(self, x):
        side = x if self.side is None else self.side(x)
        return self.main(x).add_(side).relu_()


class ResNet50(nn.Module):
    """benchmarks/step/resnet50.cpp; models/networks/resnet.cpp has the same in any width, under other names."""

    def __init__(self, classes=1000, width=1.0):
        super().__init__()
        channels = scaled(64, width)
        blocks = [convolution(3, channels, 7, 2, True), nn.MaxPool2d(3, 2, 1)]
        for stage, depth in enumerate((3, 4, 6, 3)):
            features = scaled(64 << stage, width)
            for block in range(depth):
                blocks.append(Bottleneck(channels, features, 2 if block == 0 and stage > 0 else 1))
                channels = 4 * features
        self.trunk = nn.Sequential(*blocks)
        self.head = nn.Linear(channels, classes)

    def forward(self, x):
        return self.head(self.trunk(x).mean((2, 3)))


class BasicBlock(nn.Module):
    def __init__(self, channels_in, channels_out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels_out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels_out)
        self.conv2 = nn.Conv2d(channels_out, channels_out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels_out)
        self.downsample = None
        if stride != 1 or channels_in != channels_out:
            self.downsample = nn.Sequential(nn.Conv2d(channels_in, channels_out, 1, stride, bias=False),
                                            nn.BatchNorm2d(channels_out))

    def forward(self, x):
        side = x if self.downsample is None else self.downsample(x)
        return (self.bn2(self.conv2(self.bn1(self.conv1(x)).relu())) + side).relu()


class ResNet18(nn.Module):
    """models/networks/resnet.cpp of depth 18: timm's names and initial values, in any width."""

    def __init__(self, classes=1000, width=1.0):
        super().__init__()
        self.channels = [scaled(64, width)] + [scaled(64 << i, width) for i in range(4)]
        self.conv1 = nn.Conv2d(3, self.channels[0], 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(self.channels[0])
        for i, (before, after) in enumerate(zip(self.channels, self.channels[1:])):
            setattr(self, f"layer{i + 1}", nn.Sequential(BasicBlock(before, after, 1 if i == 0 else 2),
                                                         BasicBlock(after, after, 1)))
        self.fc = nn.Linear(self.channels[-1], classes) if classes else None
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            if isinstance(module, BasicBlock):
                nn.init.zeros_(module.bn2.weight)

    def maps(self, x):
        """At strides 2, 4, 8, 16 and 32."""
        x = self.bn1(self.conv1(x)).relu()
        found = [x]
        x = nn.functional.max_pool2d(x, 3, 2, 1)
        for layer in (self.layer1, self.layer2, self.layer3, self.layer4):
            x = layer(x)
            found.append(x)
        return found

    def forward(self, x):
        return self.fc(self.maps(x)[-1].mean((2, 3)))


def layers(network):
    """As our programs print it with --layers."""
    return [[name, list(p.shape)] for name, p in network.named_parameters()]
