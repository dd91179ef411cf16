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
    """

    encoder: str = "gcn"
    hidden: int = 128
    input_layers: int = 2
    graph_layers: int = 2
    scorer_layers: int = 2
    pooling_layers: int = 1
    dropout: float = 0.2
    parsing_dropout: float = 0.0
