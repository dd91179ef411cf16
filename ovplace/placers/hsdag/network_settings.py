"""Sizes and kinds of a policy network."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NetworkSettings:
    """The network of HSDAG; the defaults are its Table 6.

    Attributes:
        encoder: graph convolution: gcn, gat, gin, sage or dag.
        hidden: size of embeddings.
        input_layers: linear layers from features to embeddings.
        graph_layers: graph convolutions of the encoder.
        scorer_layers: linear layers of the edge scorer.
        pooling_layers: linear layers on either side of the pooling's sum.
        dropout: of the graph convolutions, while learning.
        parsing_dropout: of the edge scorer, while learning.
        head: what chooses devices: `classes` knows them by number; `devices` by what groups cost there, so that it
            fits any number of devices, and needs a cost model.
        head_hidden: size of the state of a group on a device; `devices` only.
        head_rounds: how often neighbours tell each other what they are about to choose; `devices` only.
        described: nodes have the node features; else only what is known of their costs.
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
