"""Export plug-ins: one file, one format in which the answer of a run can be taken elsewhere."""
