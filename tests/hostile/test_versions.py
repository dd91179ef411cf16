"""Each file that ovplace writes has a version: one of another is refused with what helps, or is as good as none."""

from __future__ import annotations

import io
import json
import shutil
import sqlite3
import zipfile
from pathlib import Path

import numpy as np
import openvino as ov
import pytest

from ovplace.config import toml
from ovplace.config.schema import RunConfig
from ovplace.errors import OvplaceError, PlacementError
from ovplace.ir.placed_model import read_placed
from ovplace.store.run_folder import RunFolder
from ovplace.testing.hostile import PARSERS

CORPUS, PLACED = Path(__file__).parent / "corpus", Path(__file__).parent / "placed"


def text_with(old, new):
    return lambda data, _: data.replace(old, new, 1)


def config(_, __):
    return toml.stored(RunConfig()).replace("format = 1", "format = 99").encode()


def database(data, folder):
    path = folder / "changed.db"
    path.write_bytes(data)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("UPDATE meta SET value = '99' WHERE key = 'schema'")
    db.close()
    return path.read_bytes()


def policy(data, _):
    with np.load(io.BytesIO(data)) as archive:
        arrays = dict(archive)
    about = json.loads(str(arrays["about"])) | {"schema": 99}
    changed = io.BytesIO()
    np.savez(changed, **{**arrays, "about": np.array(json.dumps(about))})
    assert zipfile.is_zipfile(changed)
    return changed.getvalue()


def weights(data, _):
    import base64

    return base64.b64encode(base64.b64decode(data).replace(b'"version": 1', b'"version": 99'))


OTHERS = {
    "config.toml": (config, "start anew in another folder with -o"),
    "run.db": (database, "use another folder with -o"),
    "result.json": (text_with(b'"schema": 1', b'"schema": 99'), "ovplace optimize"),
    "policy.npz": (policy, "ovplace train"),
    "weights.txt": (weights, "another folder with -o"),
    "training.state": (text_with(b'"version": 1', b'"version": 99'), "delete it and run 'ovplace train' again"),
    "profile.json": (text_with(b'"format": 3', b'"format": 99'), None),
    "key.blob": (text_with(b"blob 2", b"blob 9"), None),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_version_is_refused_with_what_helps(tmp_path, name):
    change, advice = OTHERS[name]
    data = (CORPUS / name).read_bytes()
    changed = change(data, tmp_path)
    assert changed != data, "it has no version"
    if advice is None:
        assert PARSERS[name](data, tmp_path) is not None
        assert PARSERS[name](changed, tmp_path) is None
    else:
        with pytest.raises(OvplaceError, match=advice):
            PARSERS[name](changed, tmp_path)


def test_a_placed_model_of_another_version_is_refused_with_what_helps(tmp_path):
    folder = shutil.copytree(PLACED, tmp_path / "placed")
    found = read_placed(ov.Core(), folder)
    assert set(found.table.values()) == {device.name for device in found.devices}
    model = RunFolder(folder).placed_model
    model.write_text(model.read_text().replace('<schema value="1"', '<schema value="99"'))
    with pytest.raises(PlacementError, match="is of version 99, this ovplace reads 1; search again with 'ovplace"):
        read_placed(ov.Core(), folder)


def test_a_configuration_says_its_format_and_older_ones_are_read(tmp_path):
    folder = RunFolder(tmp_path)
    folder.write_config(RunConfig())
    assert folder.config.read_text().startswith("[ovplace]\nformat = 1\n")
    assert toml.build_config(toml.read(folder.config)) == RunConfig()
    folder.config.write_text(toml.dumps(RunConfig()))
    assert toml.read_stored(folder.config) == RunConfig()
