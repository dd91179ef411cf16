"""Runs in processes of their own that are killed in the middle of a step."""

from __future__ import annotations

import subprocess
import time


def killed_after(command, steps, counts, pause_s):
    """Let a run go on for some steps, kill it in the middle of the next one, and return the last thing it said.

    Args:
        command: a program that says each step and then waits for a line, and says its verdict in the end.
        steps: number of steps.
        counts: whether a step is one of those.
        pause_s: seconds that it works on the next step.
    """
    said = ""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        while steps and not said.startswith("verdict"):
            said = process.stdout.readline()
            steps -= counts(said)
            if not said.startswith("verdict"):
                print(file=process.stdin, flush=True)  # one step more, however late the kill is
        if not steps:
            time.sleep(pause_s)
            process.kill()
    return said
