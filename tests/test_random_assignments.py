"""Every assignment of devices to legal groups computes what the whole model computes, by HETERO and in stages."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import openvino as ov
import pytest
from onnx import numpy_helper

from ovplace import zoo
from ovplace.backends.openvino import Backend
from ovplace.core.device import Device
from ovplace.core.measurement import Candidate, Job, MeasureSpec
from ovplace.core.problem import Problem
from ovplace.devices import emulated_gpu
from ovplace.ir.legal.groups import legal_groups
from ovplace.ir.prepare.prepare import prepare
from ovplace.ir.read import read_graph
from ovplace.seeds import generator
from ovplace.testing.placements import random_assignments, segmented
from ovplace.testing.slow import slow_except

# The emulated GPU must come before openvino, which the imports of this file bring.
CHILD = """
from ovplace.devices import emulated_gpu
emulated_gpu.enable()
import runpy
runpy.run_path({file!r}, None, "__main__")
"""
LIGHT = sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("*.onnx"))
F32 = {"INFERENCE_PRECISION_HINT": "f32"}
TWO_CPUS = (Device("CPU", "CPU", F32), Device("CPU_B", "CPU", F32))
ONCE = MeasureSpec(warmup=0, blocks=1, repeats=1, min_time_ms=0, deadline_s=60)
FEWER = {"bert-base": {"layers": 2}}  # the layers of a transformer are alike
NO_CACHE = {"blobs_mib": 0}  # every placement is compiled once
CPU_LIMIT, EMULATED_LIMIT = 1e-4, 1e-3
# VGG-19 has no operation that AlexNet lacks, but half a gigabyte of weights: minutes on the emulated GPU. ResNet-50
# is a recipe as well.
MODELS = [*zoo.names(), *(str(path) for path in LIGHT if path.stem not in ("light_vgg19", "light_resnet50"))]
# Convolutions compile for seconds on the emulated GPU; AlexNet and Inception v2 have the operations of these two.
EMULATED_MODELS = [name for name in MODELS if not name.endswith(("zfnet512.onnx", "inception_v1.onnx"))]


def prepared(name, folder):
    """Return the prepared model of a recipe at its small size, or of an ONNX file."""
    if name.endswith(".onnx"):
        source = with_random_weights(Path(name), folder / "source.onnx")
    else:
        recipe, source = zoo.recipe(name), folder / "source.xml"
        config = replace(recipe.SMALL, **FEWER.get(name, {}))
        ov.save_model(recipe.build(config), source, compress_to_fp16=False)
    prepare(source, folder / "model.xml")
    return folder / "model.xml"


def with_random_weights(path, target):
    """Save a light model with weights of its own: as shipped all are equal, so that swapped channels would not show."""
    model = onnx.load(path)
    rng, graph = generator(0, path.stem), model.graph
    shapes = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in [node for node in graph.node if node.op_type == "ConstantOfShape"]:
        graph.initializer.append(numpy_helper.from_array(weights(shapes[node.input[0]], rng), node.output[0]))
        graph.node.remove(node)
    onnx.save(model, target)
    return target


def weights(shape, rng):
    if len(shape) < 2:  # biases, and scales and variances, which must be positive
        return rng.uniform(0.5, 1.5, shape).astype(np.float32)
    return rng.standard_normal(shape, dtype=np.float32) * np.float32(np.sqrt(2 / np.prod(shape[1:])))


def problem_of(path: Path, devices: tuple[Device, ...], backend: Backend) -> Problem:
    graph = read_graph(path)
    return Problem(graph, legal_groups(graph), devices, backend.supported(), np.empty((len(graph), 0)))


def failures(
    name: str, devices: tuple[Device, ...], count: int, limit: float, folder: Path, *, coarse: bool
) -> list[str]:
    """Return what went wrong with `count` random assignments."""
    path = prepared(name, folder)
    backend = Backend(Job(str(path), devices, options=NO_CACHE))
    problem = problem_of(path, devices, backend)
    rng = generator(0, name)
    placements = (
        [segmented(problem, 4, rng) for _ in range(count)] if coarse else random_assignments(problem, count, rng)
    )
    found = []
    for number, placement in enumerate(placements):
        candidates = [Candidate(way, placement, staged=way == "staged") for way in ("by HETERO", "staged")]
        for candidate, m in zip(candidates, backend.measure(candidates, ONCE), strict=True):
            if not m.ok or m.max_error > limit:
                found.append(f"{name} {number} {candidate.name}: {m.error} {m.error_text} {m.max_error:.1e}")
    return found


@pytest.mark.parametrize("name", slow_except(["attention", "lstm"], MODELS), ids=lambda name: Path(name).stem)
def test_random_assignments_between_two_cpus(name, tmp_path):
    count = 1 if name.endswith(".onnx") else 2  # one cuts a large network into hundreds of submodels
    assert failures(name, TWO_CPUS, count, CPU_LIMIT, tmp_path, coarse=False) == []


def test_there_are_nine_light_models():
    assert len(LIGHT) == 9


@pytest.mark.skipif(bool(emulated_gpu.why_unavailable()), reason=emulated_gpu.why_unavailable())
@pytest.mark.parametrize("name", slow_except(["attention"], EMULATED_MODELS), ids=lambda name: Path(name).stem)
def test_random_assignments_between_the_cpu_and_the_emulated_gpu(name, tmp_path):
    call = [sys.executable, "-c", CHILD.format(file=__file__), name, str(tmp_path)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout.splitlines()[-1]) == []


if __name__ == "__main__":
    pair = (emulated_gpu.emulated_device(), Device("CPU", "CPU", F32))
    print(json.dumps(failures(sys.argv[1], pair, 1, EMULATED_LIMIT, Path(sys.argv[2]), coarse=True)))
