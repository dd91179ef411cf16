"""Devices and settings of whole runs that take a moment."""

PAIR = "CPU_A=CPU{INFERENCE_PRECISION_HINT:f32},CPU_B=CPU{INFERENCE_PRECISION_HINT:f32}"
QUICK = ("measure.warmup=0", "measure.blocks=1", "measure.repeats=1", "measure.min_time_ms=0", "measure.deadline_s=20",
         "comparison.rounds=2", "comparison.blocks=3", "comparison.repeats=1", "comparison.min_time_ms=0")  # fmt: skip
