"""Settings that the shape of HSDAG's network depends on."""

from __future__ import annotations

from dataclasses import dataclass

from ovplace.placers.hsdag.network.perceptron import Activation


@dataclass(frozen=True)
class NetworkSettings:
    """The network of HSDAG, with the sizes of its Table 6.

    The preset `paper` has the layers of the published code, but for the layer normalisation before the encoder and the
    width after the pooling (`docs/explanation/systems/hsdag.md`).

    Attributes:
        encoder: graph convolution: gcn, gat, gin, sage or dag.
        hidden: size of embeddings.
        input_layers: linear layers from node features to embeddings.
        graph_layers: graph convolutions of the encoder.
        scorer_layers: linear layers of the edge scorer.
        pooling_layers: linear layers before and after the sum of the pooling.
        output_layers: linear layers between the pooling and the device head.
        activation_final: the networks before the encoder and after the pooling end in an activation.
        mlp_norms: the networks before the encoder and in the edge scorer have layer normalisation and dropout; the one
            after the pooling has dropout.
        pooled_edges: edges whose scores a group is weighted by: those `kept` by the parse, or all `inside` the group.
        pooled_input: what the graph convolution of the pooling reads: the `encoded` nodes, or the encoder's `input`.
        encoded_levels: groups are encoded, over undirected edges (directed ones for `dag`), before they are parsed
            again; otherwise pooled embeddings are parsed.
        dropout: dropout probability after graph convolutions (and in the networks of `mlp_norms`), during updates.
        parsing_dropout: dropout probability of the edge scorer's input, during updates.
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
    output_layers: int = 0
    activation_final: bool = False
    mlp_norms: bool = False
    pooled_edges: str = "kept"
    pooled_input: str = "encoded"
    encoded_levels: bool = False
    dropout: float = 0.2
    parsing_dropout: float = 0.0
    head: str = "classes"
    head_hidden: int = 48
    head_rounds: int = 8
    described: bool = True

    @property
    def activation(self) -> Activation:
        """The layers after each linear layer before the encoder."""
        return Activation(self.mlp_norms, self.dropout if self.mlp_norms else 0.0, self.activation_final)
