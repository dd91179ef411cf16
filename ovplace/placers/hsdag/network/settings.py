"""Settings that the shape of HSDAG's network depends on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NetworkSettings:
    """The network of HSDAG; the defaults are those of its Table 6.

    Attributes:
        encoder: graph convolution: gcn, gat, gin, sage or dag.
        hidden: size of embeddings.
        input_layers: linear layers from node features to embeddings.
        graph_layers: graph convolutions of the encoder.
        scorer_layers: linear layers of the edge scorer.
        pooling_layers: linear layers before and after the sum of the pooling.
        dropout: dropout probability in the graph convolutions, during updates.
        parsing_dropout: dropout probability in the edge scorer, during updates.
        head: device head: `classes` has one output per device; `devices` scores each device by the groups' costs on it,
            works for any number of devices, and requires a cost model.
        head_hidden: size of the state of a group on a device; `devices` only.
        head_rounds: rounds in which neighbouring groups exchange their present choices; `devices` only.
        described: nodes have the node features; otherwise only their costs.
    """

    encoder: str = "gcn"
    hidden: int = 128
    input_layers: int = 2
    graph_layers: int = 2
    scorer_layers: int = 2
    pooling_layers: int = 1
    dropout: float = 0.2
    parsing_dropout: float = 0.0
    head: str = "classes"
    head_hidden: int = 48
    head_rounds: int = 8
    described: bool = True
