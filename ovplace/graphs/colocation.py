"""Co-location sets of HSDAG: chains of nodes.

Source: Duan et al., "A structure-aware framework for learning device placements on computation graphs", NeurIPS 2024,
arXiv 2405.14185, appendix G.
"""

from __future__ import annotations

import numpy as np

from ovplace.graphs.dag import connected_labels
from ovplace.graphs.op_graph import IntArray


def colocation(n: int, edges: IntArray) -> IntArray:
    """Return the co-location set of each node, `[n]`.

    Nodes i and j share a set if j is the only child of i and i is the only parent of j. Whole chains thus merge, and
    the graph of the sets is acyclic if the graph of the nodes is. Parallel edges count as one.

    Args:
        n: number of nodes.
        edges: source and target of each edge, `[2, E]`.

    Cost: O(n + E log E).
    """
    distinct = np.unique(edges, axis=1)
    only_child = np.bincount(distinct[0], minlength=n)[distinct[0]] == 1
    only_parent = np.bincount(distinct[1], minlength=n)[distinct[1]] == 1
    return connected_labels(n, distinct[:, only_child & only_parent])
