"""The command `ovplace` as `python -m ovplace`, for a Python whose scripts are not on the path."""

from __future__ import annotations

from ovplace.cli import main

if __name__ == "__main__":
    main()
