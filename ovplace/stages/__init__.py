"""Placements run stage by stage: one compiled model for each submodel, kept for the placements that share it."""
