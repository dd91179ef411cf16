"""Viewers read what is drawn: Netron's own reader, and a parser of Graphviz's language."""

import json
import re
import shutil
import subprocess
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import openvino as ov
import pytest

from ovplace.commands.export import export
from ovplace.core.device import Device
from ovplace.errors import UsageError
from ovplace.exporters import dot, netron
from ovplace.ir.placed_model import write_placed
from tests.exporters.conftest import placed

SHOW = Path(__file__).with_name("netron.mjs")


@pytest.mark.skipif(not shutil.which("node"), reason="no Node.js, in which Netron's reader runs")
@pytest.mark.parametrize("run", ["nasty", "emulated"])
def test_netron_shows_the_device_of_each_layer(run, request, tmp_path):
    folder = request.getfixturevalue(run)
    pytest.importorskip("netron")
    path, weights = netron.Exporter(netron.Config()).write(folder, tmp_path / f"{folder.name}.xml")
    assert weights.exists()
    assert path.read_bytes().startswith(b"<?xml ")
    assert {layer[0].tag for layer in ElementTree.parse(path).iterfind("./layers/layer")} == {"data"}
    shown = json.loads(netron_nodes(path))
    table = json.loads((folder / "placement.json").read_text(encoding="utf-8"))
    label = {"GPU": "GPU (emulated)"}
    assert len(shown) > 3
    for node in shown:
        device = table[node["name"]]
        assert node["attributes"]["device"] == label.get(device, device)


@pytest.mark.slow
def test_netron_itself_shows_the_device_of_each_layer(chromium, emulated, tmp_path):
    path, _ = netron.Exporter(netron.Config()).write(emulated, tmp_path / "view.xml")
    table = json.loads((emulated / "placement.json").read_text(encoding="utf-8"))
    label = {"CPU": "CPU", "GPU": "GPU (emulate…"}  # in its box; a click shows it whole
    with netron_page(chromium, path) as page:
        page.keyboard.press("Control+d")
        layers = page.locator("g.node", has=page.locator(".node-argument-list"))
        layers.filter(has_text="device = GPU").first.wait_for()
        texts = {layer.locator("title").first.text_content(): layer.text_content() for layer in layers.all()}
        layers.filter(has_text="device = GPU").click()
        page.locator("#sidebar").get_by_text("GPU (emulated)").wait_for()
    assert len(texts) > 4
    for name, shown in texts.items():
        assert f"device = {label[table[name]]}" in shown


@contextmanager
def netron_page(browser, model):
    """Serve a model by Netron and open its page; it may ask nobody else, and be no version that is out of date."""
    package = pytest.importorskip("netron")
    host, port = package.start(str(model), browse=False)
    address = f"http://{host}:{port}"
    context = browser.new_context()
    context.add_cookies([{"name": "consent", "value": "1", "url": address}])
    context.route(lambda url: not url.startswith(address), lambda route: route.abort())
    page = context.new_page()
    made = re.search('name="date" content="(.{10})', (Path(package.__file__).parent / "index.html").read_text("utf-8"))
    page.clock.set_fixed_time(made[1])
    try:
        page.goto(address)
        page.locator("g.node").first.wait_for()
        yield page
    finally:
        context.close()
        package.stop((host, port))


def netron_nodes(path):
    import netron as package

    command = ["node", SHOW, Path(package.__file__).parent, path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # pydot 4.0 calls pyparsing 3.3 by its old names
@pytest.mark.parametrize("run", ["nasty", "emulated"])
def test_graphviz_reads_operations_submodels_and_transfers(run, request):
    pydot = pytest.importorskip("pydot")
    folder = request.getfixturevalue(run)
    second = {"nasty": "CPU_B", "emulated": "GPU (emulated)"}[run]
    written = dot.Exporter(dot.Config()).text(folder)
    assert {"nasty": "é", "emulated": "emulated"}[run] in written
    (graph,) = pydot.graph_from_dot_data(written)
    assert graph.get_node_defaults()[0]["shape"] == "box"
    assert {node.get_name() for node in graph.get_nodes()} == {"node", "legend0", "legend1"}
    clusters = graph.get_subgraphs()
    assert [text(cluster.get_label()) for cluster in clusters] == [
        "submodel 0: CPU", f"submodel 1: {second}", "submodel 2: CPU",
    ]  # fmt: skip
    inside = [text(node.get_label()) for node in clusters[1].get_nodes()]
    table = json.loads((folder / "placement.json").read_text(encoding="utf-8"))
    (convolution,) = (name for name in table if name.startswith("conv1"))
    assert inside == [f"Convolution\n{convolution}\n{second}"]
    cut = [edge for edge in graph.get_edges() if edge.get("penwidth")]
    assert [text(edge.get_label()) for edge in cut] == ["1024 B", "1024 B"]
    assert {edge.get("color") for edge in graph.get_edges()} == {"red", None}
    drawn = {node.get_name(): node for cluster in clusters for node in cluster.get_nodes()}
    assert {end for edge in graph.get_edges() for end in (edge.get_source(), edge.get_destination())} == drawn.keys()
    assert {text(node.get_label()) for node in graph.get_nodes() if node.get_name().startswith("legend")} == {
        "CPU",
        second,
    }


def test_each_device_has_a_colour_of_its_own(tmp_path):
    devices = [Device("CPU" if d == 0 else f"CPU_{d}", "CPU") for d in range(6)]
    folder = placed(tmp_path / "run", devices, "CPU")
    ops = ov.Core().read_model(folder / "placed.xml").get_ordered_ops()
    table = {op.get_friendly_name(): "CPU" for op in ops}
    running = [op.get_friendly_name() for op in ops if op.get_type_name() not in ("Constant", "Result")]
    table |= {name: devices[i % 6].name for i, name in enumerate(running)}
    write_placed(folder / "placed.xml", folder, table, devices, {})
    lines = dot.Exporter(dot.Config()).text(folder)
    legend = dict(re.findall(r'label="(\S+)", shape=ellipse, fillcolor="(#[0-9a-f]{6})"', lines))
    assert legend.keys() == {device.name for device in devices}
    assert len(set(legend.values())) == 6
    boxes = re.findall(r'op\d+ \[label="[^"]*\\n(\S+)", fillcolor="(.*)"\];$', lines, re.MULTILINE)
    assert len(boxes) > 3
    assert len(re.findall(r"^  subgraph cluster\d+ {$", lines, re.MULTILINE)) == lines.count("subgraph")
    assert boxes == [(device, legend[device]) for device, _ in boxes]


def text(label):
    """Return what Graphviz shows for a quoted label."""
    written = {r"\\": "\\", r"\"": '"', r"\n": "\n"}
    return unescape(re.sub(r"\\.", lambda found: written[found[0]], label.strip('"')))


@pytest.mark.skipif(not shutil.which("dot"), reason="no Graphviz")
def test_graphviz_itself_lays_it_out(nasty):
    written = dot.Exporter(dot.Config()).text(nasty)
    drawn = subprocess.run(["dot", "-Tsvg"], input=written, capture_output=True, text=True, check=False)
    assert drawn.returncode == 0, drawn.stderr
    assert drawn.stdout.count('class="cluster"') == 3


def test_a_view_for_netron_is_an_ir_beside_the_run(emulated):
    exporter = netron.Exporter(netron.Config())
    with pytest.raises(UsageError, match=r"must end in \.xml"):
        exporter.write(emulated, emulated / "view.onnx")
    before = (emulated / "placed.xml").read_bytes()
    with pytest.raises(UsageError, match="belongs to a run"):
        export(emulated, exporter, emulated / "placed.xml")
    assert (emulated / "placed.xml").read_bytes() == before


CONTROL = "\x01 \x1b[31m"


@pytest.fixture(scope="module")
def controlled(tmp_path_factory):
    """Return a placement of operations in whose names are control characters."""
    return placed(tmp_path_factory.mktemp("control") / "run", [Device("CPU", "CPU")], "CPU", CONTROL)


def test_a_view_for_netron_is_xml_whatever_is_in_a_name(controlled, tmp_path):
    path, _ = netron.Exporter(netron.Config()).write(controlled, tmp_path / "view.xml")
    names = [layer.attrib["name"] for layer in ElementTree.parse(path).iterfind("./layers/layer")]
    assert all(name.endswith(r"\x01 \x1b[31m") for name in names)
    shown = {op.get_friendly_name() for op in ov.Core().read_model(path).get_ops()}
    assert shown == set(names)


def test_a_view_for_netron_is_xml_whatever_a_program_has_noted_in_the_model(plain, tmp_path):
    run = shutil.copytree(plain, tmp_path / "run")
    model = (run / "placed.xml").read_bytes()
    (run / "placed.xml").write_bytes(model.replace(b"<rt_info>\n\t\t<", b'<rt_info>\n\t\t<mine value="\xe9" />\n\t\t<'))
    path, _ = netron.Exporter(netron.Config()).write(run, tmp_path / "view.xml")
    noted = ElementTree.parse(path).find("./rt_info/mine")
    assert noted is not None and noted.attrib == {"value": r"\xe9"}


def test_a_graph_shows_control_characters_as_escapes(controlled):
    written = dot.Exporter(dot.Config()).text(controlled)
    assert r"\\x01 \\x1b[31m" in written
    assert r"\u001b" not in written
