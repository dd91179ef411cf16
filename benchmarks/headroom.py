"""How much any placement can gain on the simulated machine of HSDAG, beside what HSDAG published.

    python benchmarks/headroom.py [--machine i9-12900k+flex170] [--time-limit 60]

For each model: both devices alone and the certified optimum of the cost model, at the level of legal groups. All of it
is simulated: it says what the published single-device latencies leave room for if the machine is as described in
`configs/machines/`, and nothing about what HSDAG's machine can do.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace

import numpy as np
from calibration import MACHINE, Model, built

from ovplace.core.certificate import PAIRWISE, Certificate
from ovplace.cost.evaluate.latency import latency_ms
from ovplace.cost.solvers.milp.solver import solve_milp
from ovplace.cost.solvers.portfolio import best_certified
from ovplace.simulation.machine import Machine
from ovplace.simulation.machine_file import load_machine

HSDAG_MS = {"inception-v3": 10.5, "resnet-50": 7.66, "bert-base": 2.67}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machine", default=MACHINE)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each mixed-integer program")
    arguments = parser.parse_args()
    machine = load_machine(arguments.machine)
    with built() as models:
        for of in models:
            print(json.dumps(row(machine, of, arguments.time_limit)), flush=True)


def row(machine: Machine, of: Model, time_limit_s: float) -> dict[str, object]:
    table = machine.table(of.graph, of.legal, of.name)
    singles = latency_ms(table, table.uniform_choices())
    found = best_certified(table, time_limit_s)
    nothing, alone_ms = np.zeros_like(table.latency_ms), float(singles.min())
    free = solve_milp(
        replace(table, latency_ms=nothing, ms_per_byte=nothing), model=PAIRWISE, time_limit_s=time_limit_s
    )
    published = HSDAG_MS[of.name] if machine.name == MACHINE else None
    return {
        "model": of.name,
        "simulated": machine.name,
        "groups": table.n_groups,
        "alone_ms": {
            name: round(ms, 4) if np.isfinite(ms) else None
            for name, ms in zip(machine.names, singles.tolist(), strict=True)
        },
        "optimum_ms": round(found.value_ms, 4),
        "no_placement_below_ms": round(found.lower_bound_ms, 4),
        "headroom": round(max(0.0, 1 - found.value_ms / alone_ms), 4),
        "optimum_if_borders_were_free_ms": round(free.certificate.value_ms, 4),
        "groups_per_device": np.bincount(found.device_of, minlength=table.n_devices).tolist(),
        "submodels": len(of.legal.lift(found.device_of, machine.names).submodels(of.graph)),
        "hsdag_published_ms": published,
        "hsdag_published_gain": published and round(1 - published / alone_ms, 4),
        "certificates": [described(solution.certificate) for solution in found.solutions],
    }


def described(certificate: Certificate) -> str:
    of = "pairwise model" if certificate.model == PAIRWISE else "full model"
    return (
        f"{certificate.solver}, {of}: {certificate.value_ms:.4f} ms, bound {certificate.lower_bound_ms:.4f} ms, "
        f"gap {certificate.gap:.2%}, {certificate.seconds:.2f} s"
    )


if __name__ == "__main__":
    main()
