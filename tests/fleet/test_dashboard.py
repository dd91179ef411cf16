"""The dashboard shows what a fleet does, to browsers on the scheduler's machine only."""

import asyncio
import json
import socket
from contextlib import asynccontextmanager

import pytest
from tornado.httpclient import AsyncHTTPClient

from ovplace.errors import BackendError
from ovplace.fleet.certificates import Role
from ovplace.fleet.channel import open_channel
from ovplace.fleet.dashboard import server
from ovplace.fleet.dashboard.page import page_of
from ovplace.fleet.files import FileStore
from ovplace.fleet.overview import MachineState, Overview, SearchState
from ovplace.fleet.scheduler import LONGEST_TITLE, Scheduler

BUSY = MachineState("box1", ("CPU", "GPU"), "0.1.0", "2026.2.0", "search-1", "measure", 75.0, 12, 0.5)
FREE = MachineState("box2", ("CPU",), "0.1.0", "2026.2.0", "", "", 0.0, 3, 0.25)
SEARCH = SearchState("search-1", "model.xml with hsdag", 1, 2, 15, "box1", ("box3",))
FLEET = Overview(3661.0, (BUSY, FREE), (SEARCH,))


@asynccontextmanager
async def asking(port=0):
    """Serve a dashboard; yield its address and a function that asks it for a path."""
    client = AsyncHTTPClient(force_instance=True)
    async with server.serving_dashboard(port, lambda: FLEET) as address:

        async def ask(path, **options):
            return await client.fetch(address + path, raise_error=False, **options)

        yield address, ask
    client.close()


def test_the_page_tells_what_machines_and_searches_do():
    page = page_of(FLEET)
    assert "1 of 2 machines busy" in page
    assert "Requests waiting for a machine: 2." in page
    assert "run for 1:01:01" in page
    assert '<td>measure of search-1</td><td class="number">0:01:15</td>' in page
    assert "<td>CPU, GPU</td>" in page
    assert "model.xml with hsdag</td>" in page
    assert "25 %" in page


def test_an_empty_fleet_is_told_how_to_grow():
    page = page_of(Overview(0.0, (), ()))
    assert "ovplace worker --scheduler" in page
    assert "0 of 0 machines busy" in page


def test_names_of_other_machines_are_shown_as_text():
    evil = "<script>alert(1)</script>"
    machine = MachineState(evil, (evil,), evil, evil, evil, evil, 0.0, 0, 0.0)
    page = page_of(Overview(0.0, (machine,), (SearchState(evil, evil, 0, 0, 0, evil, (evil,)),)))
    assert "<script" not in page
    assert page.count("&lt;script&gt;") == 10


def test_it_answers_with_the_page_and_the_same_as_json():
    async def visit():
        async with asking() as (address, ask):
            assert address.startswith("http://127.0.0.1:")
            return await ask("/"), await ask("/fleet.json")

    page, data = asyncio.run(visit())
    assert page.body.decode() == page_of(FLEET)
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    fleet = json.loads(data.body)
    assert fleet["machines"][0]["name"] == "box1"
    assert fleet["searches"][0]["set_aside"] == ["box3"]


@pytest.mark.parametrize(
    ("path", "options", "code"),
    [
        ("/", {"headers": {"Host": "evil.example:8787"}}, 404),
        ("/fleet.json", {"headers": {"Host": "evil.example"}}, 404),
        ("/", {"headers": {"Host": "localhost:8787"}}, 200),
        ("/", {"method": "POST", "body": ""}, 405),
        ("/other", {}, 404),
    ],
)
def test_it_is_read_only_and_answers_under_its_own_names(path, options, code):
    async def visit():
        async with asking() as (_, ask):
            return await ask(path, **options)

    assert asyncio.run(visit()).code == code


def test_it_takes_another_port_where_its_own_is_in_use():
    async def visit(port):
        async with asking(port) as (address, ask):
            assert (await ask("/")).code == 200
            return int(address.rpartition(":")[2])

    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        assert asyncio.run(visit(taken)) != taken
    assert asyncio.run(visit(taken)) == taken


def test_a_port_that_it_may_not_use_is_named_with_the_option(monkeypatch):
    def refused(*_):
        raise PermissionError(13, "Permission denied")

    async def serve():
        async with asking(80):
            pass

    monkeypatch.setattr(server, "create_server", refused)
    with pytest.raises(BackendError, match=r"127\.0\.0\.1:80 \(Permission denied\).*--dashboard-port"):
        asyncio.run(serve())


def test_a_search_is_shown_with_the_title_that_it_gives_itself(certificates, tmp_path):
    serving = Scheduler(certificates, FileStore(tmp_path), patience_s=1.0, log=lambda _: None)

    async def search():
        address = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(serving.serve("tls://127.0.0.1:0", address.set_result))
        channel = await open_channel(await address, certificates, Role.CLIENT)
        await channel.send({"op": "title", "title": "m" * 10_000})
        while not (shown := serving.overview().searches) or not shown[0].title:
            await asyncio.sleep(0.01)
        await channel.close()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return shown

    (shown,) = asyncio.run(asyncio.wait_for(search(), 60))
    assert shown.title == "m" * LONGEST_TITLE
