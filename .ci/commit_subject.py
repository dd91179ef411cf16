"""Check that a commit's subject reads `area: imperative`, in at most 72 characters; git gives the message's file."""

from __future__ import annotations

import re
import sys
from pathlib import Path

LONGEST = 72
AREAS = re.compile(r"[a-z][a-z0-9_./ -]*(, [a-z][a-z0-9_./ -]*)*: \S")
BY_GIT = ("Merge ", "Revert ", "fixup! ", "squash! ")


def problem(subject: str) -> str:
    """Return what is wrong with a subject, an empty text if nothing is."""
    if subject.startswith(BY_GIT):
        return ""
    if len(subject) > LONGEST:
        return f"is {len(subject)} characters long, at most {LONGEST} are allowed: the why belongs in the body"
    if not AREAS.match(subject):
        return "does not begin with an area, as in 'cost: name the solvers once'"
    return ""


def main(path: str) -> int:
    """Return 0 if the message in `path` has a good subject, 1 otherwise."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    subject = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    if said := problem(subject):
        print(f"the commit subject '{subject}' {said}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
