"""Convolutional networks of random cells, in the manner of NASNet and ENAS.

Sources: Zoph, Vasudevan, Shlens and Le, "Learning Transferable Architectures for Scalable Image Recognition" (2018);
Pham, Guan, Zoph, Le and Dean, "Efficient Neural Architecture Search via Parameter Sharing" (2018). A cell reads the
outputs of the two cells before it. Each of its nodes applies an operation to two of what there is and adds the
results; what no node reads is joined. All cells of a model have one of two drawn structures; those of the second halve
the image.
"""

from __future__ import annotations

from dataclasses import dataclass

import openvino as ov
from openvino import opset13 as opset

from ovplace.zoo.families.draws import Config, Draws
from ovplace.zoo.layers.builder import Builder, Tensor, Window, channels_of, finish, image, spatial_size

SUMMARY = "Family of CNNs of random cells, one for each index"
SMALL = Config(index=1)

_BRANCHES = ("identity", "conv1", "conv3", "separable3", "separable5", "max_pool3", "avg_pool3")
_CHANNELS_CAP = 96
"""Channels of one branch, at most, which keeps the weights of the largest models small."""


@dataclass(frozen=True)
class _Node:
    """Two operations, and the positions of what they read: cell inputs are 0 and 1, nodes follow."""

    branches: tuple[str, str]
    sources: tuple[int, int]


@dataclass(frozen=True)
class _Plan:
    """The structure of a model; `cells` is the number of cells that keep the size, in each stage."""

    resolution: int
    channels: int
    stem_stride: int
    cells: tuple[int, ...]
    activation: str
    normal: tuple[_Node, ...]
    reduction: tuple[_Node, ...]


def build(config: Config) -> ov.Model:
    """Return the model, `data` `[1, 3, H, H]` to `logits` `[1, classes]`."""
    draws = Draws("cells", config)
    plan, classes = _plan(draws), draws.size(10, 1000, 10)
    net, channels = Builder(draws.rng), plan.channels
    data = image(1, plan.resolution, plan.resolution)
    stem = _activated(net, "stem", net.conv("stem", data, channels, Window(3, plan.stem_stride)), plan)
    before: Tensor = stem
    last: Tensor = stem
    for stage, count in enumerate(plan.cells):
        if stage:
            channels = min(2 * channels, _CHANNELS_CAP)
            before, last = last, _cell(net.within(f"reduction{stage}"), before, last, channels, plan, 2)
        for i in range(count):
            before, last = last, _cell(net.within(f"stage{stage}/cell{i}"), before, last, channels, plan, 1)
    return finish(f"cells-{config.index}", data, {"logits": net.classifier(last, classes)})


def _plan(draws: Draws) -> _Plan:
    resolution = draws.size(24, 256, 8)
    return _Plan(
        resolution=resolution,
        channels=draws.size(8, 64, 8),
        stem_stride=2 if resolution > 96 else 1,
        cells=tuple(draws.count(1, 3) for _ in range(draws.count(1, 5))),
        activation=draws.one_of("relu", "hswish", "swish"),
        normal=_nodes(draws),
        reduction=_nodes(draws),
    )


def _nodes(draws: Draws) -> tuple[_Node, ...]:
    """Draw the nodes of a cell; each reads any two of the inputs and of the nodes before it."""
    return tuple(
        _Node(
            (draws.one_of(*_BRANCHES), draws.one_of(*_BRANCHES[1:])),
            (draws.count(0, i + 1), draws.count(0, i + 1)),
        )
        for i in range(draws.count(2, 6))
    )


def _cell(net: Builder, before: Tensor, last: Tensor, channels: int, plan: _Plan, stride: int) -> ov.Node:
    """`[1, C, H, W]` of the last two cells to `[1, C', H / stride, W / stride]`."""
    nodes = plan.normal if stride == 1 else plan.reduction
    halving = spatial_size(before)[0] > spatial_size(last)[0]
    parts: list[Tensor] = [
        _entry(net.within("in0"), before, channels, plan, 2 if halving else 1),
        _entry(net.within("in1"), last, channels, plan, 1),
    ]
    for i, node in enumerate(nodes):
        scope = net.within(f"node{i}")
        left, right = (
            _branch(scope.within(side), kind, parts[source], plan, stride if source < 2 else 1)
            for side, kind, source in zip(("left", "right"), node.branches, node.sources, strict=True)
        )
        parts.append(net.add(f"node{i}/add", left, right))
    return _joined(net, parts, nodes)


def _joined(net: Builder, parts: list[Tensor], nodes: tuple[_Node, ...]) -> ov.Node:
    """Join the nodes that no other reads; the last one is always among them."""
    read = {source for node in nodes for source in node.sources}
    return net.concat("concat", [part for i, part in enumerate(parts) if i >= 2 and i not in read])


def _entry(net: Builder, data: Tensor, channels: int, plan: _Plan, stride: int) -> ov.Node:
    """Bring what a cell reads to its number of channels and its size; the gain undoes what sums have added."""
    return _activated(net, "squeeze", net.conv("squeeze", data, channels, Window(1, stride), gain=0.7), plan)


def _branch(net: Builder, kind: str, data: Tensor, plan: _Plan, stride: int) -> Tensor:
    """One operation of a node, to as many channels as it reads."""
    channels, size = channels_of(data), int(kind[-1]) if kind[-1].isdigit() else 1
    window = Window(size, stride)
    if kind.startswith("conv"):
        return _activated(net, "conv", net.conv("conv", data, channels, window), plan)
    if kind.startswith("separable"):
        narrow = net.conv("pointwise", net.depthwise("depthwise", data, window), channels, Window(1))
        return _activated(net, "pointwise", narrow, plan)
    if kind == "max_pool3":
        return net.max_pool("max_pool", data, window)
    if kind == "avg_pool3":
        pool = opset.avg_pool(data, [stride] * 2, [1, 1], [1, 1], [3, 3], True, name=net.path("avg_pool"))
        return pool.output(0)
    return net.conv("shortcut", data, channels, window) if stride > 1 else data


def _activated(net: Builder, name: str, data: ov.Node, plan: _Plan) -> ov.Node:
    name = f"{name}/{plan.activation}"
    if plan.activation == "swish":
        return opset.swish(data, net.floats(f"{name}/beta", 1), name=net.path(name))
    return {"relu": opset.relu, "hswish": opset.hswish}[plan.activation](data, name=net.path(name))
