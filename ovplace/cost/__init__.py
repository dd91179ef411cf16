"""The sequential cost model of HETERO: evaluating it, fitting it to measurements, and solving it exactly."""
