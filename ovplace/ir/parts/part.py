"""A part of a model as a model of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import openvino as ov
from openvino import opset13 as opset

from ovplace.errors import PlacementError
from ovplace.ir.affinity import op_names


@dataclass(frozen=True)
class Feed:
    """A tensor of the whole model that a part reads or computes: output `port` of the operation named `op`."""

    op: str
    port: int


@dataclass(frozen=True)
class Part:
    """A part of a model.

    Attributes:
        model: it alone; operations keep their names.
        feeds: where the value of each input comes from, `[I]`.
        yields: which tensor each output is, `[O]`; some tensors may come out twice.
    """

    model: ov.Model
    feeds: tuple[Feed, ...]
    yields: tuple[Feed, ...]


def extract(model: ov.Model, part: Sequence[int]) -> Part:
    """Return the operations `part` of `model` as a model of their own; `model` stays as it is.

    What the part reads from the rest arrives through Parameters, Constants are copied along; what the rest reads
    leaves through Results. A whole legal group (`ir.legal`) keeps its weights and its state inside.

    Args:
        model: the whole, read as `ir.read` numbers it.
        part: indices of operations.

    Raises:
        PlacementError: there is no such operation, or nobody reads what the part computes.
    """
    names = op_names(model)
    if not all(0 <= i < len(names) for i in part):
        raise PlacementError(f"the part names operation {max(part)}, the model has {len(names)}")
    copy = model.clone()
    by_name = {op.get_friendly_name(): op for op in copy.get_ops()}
    inside = [by_name[names[i]] for i in sorted(part)]
    members = {op.get_name() for op in inside}
    results = [*_of_type(inside, "Result"), *_outgoing(inside, members)]
    sinks = [sink for sink in copy.get_sinks() if sink.get_name() in members]
    if not results and not sinks:
        raise PlacementError(f"nobody reads what the part of operation '{inside[0].get_friendly_name()}' computes")
    fed = _feed(inside, members)
    inputs = [*_of_type(inside, "Parameter"), *fed.values()]
    feeds = [Feed(op.get_friendly_name(), 0) for op in _of_type(inside, "Parameter")] + list(fed)
    yields = tuple(_source(result) for result in results)
    # Cloned: nodes of the first copy still know readers outside the part.
    return Part(ov.Model(results, sinks, inputs, model.get_name()).clone(), tuple(feeds), yields)


def whole(model: ov.Model) -> Part:
    """Return all of a model as a part; no operation is copied."""
    feeds = tuple(Feed(op.get_friendly_name(), 0) for op in model.get_parameters())
    return Part(model, feeds, tuple(_source(result) for result in model.get_results()))


def constant_outputs(part: Part) -> dict[Feed, ov.Tensor]:
    """Return the value of each output that is a Constant of the model, which no inference has to compute.

    Args:
        part: the part.
    """
    sources = [result.input_value(0).get_node() for result in part.model.get_results()]
    pairs = zip(part.yields, sources, strict=True)
    return {feed: source.tensor_view for feed, source in pairs if isinstance(source, ov.op.Constant)}


def devices_of(part: ov.Model, known: Mapping[str, str]) -> dict[str, str]:
    """Return a device for each operation of an extracted part, by name.

    Args:
        part: the part.
        known: devices of the model's own operations; added Parameters, Results and copied Constants follow these.
    """
    table: dict[str, str] = {}
    for op in part.get_ordered_ops():
        name = op.get_friendly_name()
        neighbours = [op.input_value(0).get_node()] if op.get_type_name() == "Result" else _readers(op)
        table[name] = known.get(name) or next(d for n in neighbours if (d := known.get(n.get_friendly_name())))
    return table


def recorder(model: ov.Model, feeds: Sequence[Feed]) -> ov.Model:
    """Return `model` with an output more for each of `feeds`, in their order, behind its own outputs.

    Args:
        model: the whole model.
        feeds: outputs of operations inside it.
    """
    copy = model.clone()
    by_name = {op.get_friendly_name(): op for op in copy.get_ops()}
    copy.add_results([opset.result(by_name[feed.op].output(feed.port)) for feed in feeds])
    return copy


def _source(result: ov.Node) -> Feed:
    port = result.input_value(0)
    return Feed(port.get_node().get_friendly_name(), port.get_index())


def _of_type(ops: Sequence[ov.Node], kind: str) -> list[ov.Node]:
    return [op for op in ops if op.get_type_name() == kind]


def _readers(op: ov.Node) -> Iterator[ov.Node]:
    return (target.get_node() for port in op.outputs() for target in port.get_target_inputs())


def _outgoing(inside: Sequence[ov.Node], members: set[str]) -> list[ov.Node]:
    """Return a Result for each tensor that the rest of the model reads; it holds copies of the Constants itself."""
    return [
        opset.result(port)
        for op in inside
        if op.get_type_name() != "Constant"
        for port in op.outputs()
        if any(target.get_node().get_name() not in members for target in port.get_target_inputs())
    ]


def _feed(inside: Sequence[ov.Node], members: set[str]) -> dict[Feed, ov.Node]:
    """Give the part a Parameter for each tensor that it reads from the rest; return them."""
    fed: dict[Feed, ov.Node] = {}
    for op in inside:
        for entry in op.inputs():
            port = entry.get_source_output()
            producer = port.get_node()
            if producer.get_name() in members or producer.get_type_name() == "Constant":
                continue
            feed = Feed(producer.get_friendly_name(), port.get_index())
            if feed not in fed:
                fed[feed] = opset.parameter(port.get_partial_shape(), port.get_element_type())
                fed[feed].set_friendly_name(f"{feed.op}:{feed.port} (fed)")
            entry.replace_source_output(fed[feed].output(0))
    return fed
