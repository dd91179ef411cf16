"""The sequential cost model of HETERO evaluated: latency, submodels, and the cost of moves."""
