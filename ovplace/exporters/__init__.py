"""Export plug-ins: one file, one form in which the answer of a run can be taken elsewhere."""
