"""What tells the files of a run from others."""

import errno
from pathlib import Path

import pytest

from ovplace.config.schema import RunConfig, SearchConfig
from ovplace.errors import ModelError, UsageError
from ovplace.session.run_files import fingerprints


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [("model.onnx", ModelError, "cannot read the model"), ("in.npz", UsageError, "cannot read the inputs")],
)
def test_a_file_that_may_not_be_read_is_named(tmp_path, monkeypatch, name, kind, said):
    model, inputs = tmp_path / "model.onnx", tmp_path / "in.npz"
    model.touch()
    inputs.touch()
    opened = Path.open

    def refusing(path, *arguments, **options):
        if path.name == name:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", refusing)
    config = RunConfig(search=SearchConfig(model=str(model), input=str(inputs)))
    with pytest.raises(kind, match=f"{said} '.*{name}': Permission denied; check its permissions"):
        fingerprints(config)
