"""The submodels that HETERO forms, for many placements of groups at once."""
