"""Following a run: on this machine only, whether or not it has begun."""

import html
import json
import shutil
import socket
import threading
import urllib.error
import urllib.request
from contextlib import closing

import pytest
from click.testing import CliRunner

from ovplace.cli import group
from ovplace.config.schema import RunConfig, SearchConfig
from ovplace.core.certificate import finite
from ovplace.errors import PlacementError, StoreError
from ovplace.report.live import HOST, Follower, Server
from ovplace.search.run import EMULATED
from ovplace.store.run_folder import RunFolder
from ovplace.testing.reports import evidence


@pytest.fixture
def server(tmp_path):
    with Server(tmp_path / "run") as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


def get(server, path, **headers):
    request = urllib.request.Request(server.address + path, headers=headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()


def status(server, path, **headers):
    with pytest.raises(urllib.error.HTTPError) as error:
        get(server, path, **headers)
    error.value.close()
    return error.value.code


def test_a_run_is_awaited_then_followed_then_finished(server):
    assert json.loads(get(server, "data.json"))["begun"] is False
    folder = server.folder
    assert not folder.path.exists()
    folder.create()
    folder.write_config(RunConfig(search=SearchConfig(model="m.xml", placer="cut")))
    store = folder.open_store()
    for trial in evidence().trials:
        store.add_trial(f"key {trial.number}", trial)
    store.put(EMULATED, ["GPU"])
    store.put("reference", "GPU")
    with folder.locked():
        assert json.loads(get(server, "data.json"))["running"] is True
    found = json.loads(get(server, "data.json"))
    store.close()
    assert "GPU is emulated" in found["caution"]
    assert found["history"]["on_devices"][1] == "40 on GPU (emulated), 40 on CPU"
    assert (found["begun"], found["running"], found["finished"]) == (True, False, False)
    assert found["history"]["reference"] == "GPU (emulated)"
    assert found["history"]["best"] == [1.2, 1.1, 1.0, 0.9, 0.8, 0.8]
    assert status(server, "report.html") == 404
    folder.result.write_text("{}", encoding="utf-8")
    folder.report.write_text("the report", encoding="utf-8")
    assert json.loads(get(server, "data.json"))["finished"] is True
    assert get(server, "report.html") == "the report"


def test_trials_that_a_fleet_measures_out_of_order_are_all_followed(tmp_path):
    folder, trials = RunFolder(tmp_path), evidence().trials
    folder.write_config(RunConfig())
    follower = Follower(folder)
    with closing(folder.open_store()) as store:
        for number in (0, 2, 3, 1, 5, 4):
            store.add_trial(f"key {number}", trials[number])
            follower.snapshot()
    assert follower.snapshot().history.ratio == tuple(finite(trial.ratio) for trial in trials)


@pytest.mark.parametrize("is_asked_between", [True, False])
def test_a_run_that_is_deleted_and_made_anew_is_another_one(is_asked_between, tmp_path):
    folder, trials = RunFolder(tmp_path / "run"), evidence().trials
    follower = Follower(folder)
    for placer, shown in (("cut", trials), ("random", trials[:1])):
        folder.create()
        folder.write_config(RunConfig(search=SearchConfig(placer=placer)))
        with closing(folder.open_store()) as store:
            for trial in shown:
                store.add_trial(f"key {trial.number}", trial)
        history = follower.snapshot().history
        assert (history.placer, len(history.ratio)) == (placer, len(shown))
        shutil.rmtree(folder.path)
        if is_asked_between:
            assert follower.snapshot().history.ratio == ()


def test_only_this_machine_is_answered_and_only_what_is_meant(server):
    assert server.server_address[0] == HOST == "127.0.0.1"
    assert status(server, "", Host="evil.example") == 403
    assert status(server, "run.db") == 404
    assert "connect-src 'self'" in html.unescape(get(server, ""))


def test_where_no_run_can_begin_none_is_awaited(tmp_path):
    (tmp_path / "model.xml").touch()
    with pytest.raises(PlacementError, match="is a file, not a run folder"):
        Server(tmp_path / "model.xml")
    inside = RunFolder(tmp_path / "one")
    inside.create()
    inside.write_config(RunConfig())
    with pytest.raises(PlacementError, match=r"holds no run; give one that is in it, such as '.*/one'"):
        Server(tmp_path)
    shutil.rmtree(inside.path)
    (tmp_path / "ablation.json").write_text("{}")
    with pytest.raises(PlacementError, match="is the folder of an ablation; follow one of its runs"):
        Server(tmp_path)
    done = CliRunner().invoke(group, ["report", str(inside), "--live", "-o", "x.html"])
    assert (done.exit_code, "--live writes no file; leave out -o" in done.output) == (2, True)


def test_a_taken_port_is_told(server, tmp_path):
    with pytest.raises(StoreError, match=r"cannot listen on port \d+.*--port"):
        Server(tmp_path, server.server_port)


def test_a_damaged_run_has_no_data(server):
    folder = RunFolder(server.folder.path)
    folder.create()
    folder.write_config(RunConfig())
    folder.database.write_text("no database", encoding="utf-8")
    assert status(server, "data.json") == 404
    folder.database.unlink()
    folder.open_store().close()
    assert json.loads(get(server, "data.json"))["begun"] is True
    server.follower = Follower(folder)
    folder.config.write_text("no configuration", encoding="utf-8")
    assert status(server, "data.json") == 404


def test_a_browser_that_goes_away_is_no_error(server, monkeypatch):
    errors, ended = [], threading.Event()

    def close(request: socket.socket) -> None:
        request.close()
        ended.set()

    monkeypatch.setattr(server, "handle_error", lambda *arguments: errors.append(arguments))
    monkeypatch.setattr(server, "shutdown_request", close)
    server.folder.create()
    server.folder.report.write_text("x" * 50_000_000, encoding="utf-8")
    with socket.create_connection((HOST, server.server_port)) as browser:
        browser.sendall(b"GET /report.html HTTP/1.0\r\nHost: localhost\r\n\r\n")
        browser.recv(1)
    assert ended.wait(60)
    assert not errors
