"""What a policy cannot be written to is refused before anything is trained."""

import pytest

from ovplace.errors import UsageError
from ovplace.store.run_folder import RunFolder
from ovplace.train.policy_lock import training_of


@pytest.mark.parametrize("name", [".", "/", "folder"])
def test_a_folder_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match=r"is a folder; name a file with -o, such as 'policy.npz'"):
        training_of(tmp_path / "folder" if name == "folder" else type(tmp_path)(name))
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_the_files_of_a_run_are_kept(tmp_path):
    run = RunFolder(tmp_path / "run")
    run.database.parent.mkdir(parents=True)
    run.config.touch()
    run.database.touch()
    with pytest.raises(UsageError, match="belongs to a run, which would lose it"):
        training_of(run.database)
