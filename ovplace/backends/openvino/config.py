"""Settings of the OpenVINO backend."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    """Settings of the OpenVINO backend.

    Attributes:
        keep_compiled: number of compiled models kept for later requests, each of which needs the reference again.
        stages_mib: memory in MiB that compiled stages may hold until another placement shares them.
        blobs_mib: size in MiB of the compiled models and kernels in the user's cache folder, which all runs share; 0
            for none.
    """

    keep_compiled: int = 3
    stages_mib: int = 1024
    blobs_mib: int = 2048

    def __post_init__(self) -> None:
        """Check the numbers."""
        if self.keep_compiled < 1 or min(self.stages_mib, self.blobs_mib) < 0:
            raise ValueError(
                "keep_compiled must be positive, stages_mib and blobs_mib not negative, got "
                f"{self.keep_compiled}, {self.stages_mib} and {self.blobs_mib}"
            )
