"""Reading `-d` and device tables."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ovplace.devices.syntax import DeviceRequest, check_together, from_tables, parse_devices
from ovplace.errors import ConfigError, DeviceError, OvplaceError, UsageError

F32 = {"INFERENCE_PRECISION_HINT": "f32"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CPU", [DeviceRequest("CPU", "CPU")]),
        (" HETERO:GPU.1, CPU ", [DeviceRequest("GPU.1", "GPU.1"), DeviceRequest("CPU", "CPU")]),
        ("CPU{INFERENCE_PRECISION_HINT:f32}", [DeviceRequest("CPU", "CPU", F32)]),
        ("CPU_A=CPU{INFERENCE_PRECISION_HINT:f32,B:c:d},GPU", None),
    ],
)
def test_reads(text, expected):
    found = parse_devices(text)
    if expected is None:
        expected = [DeviceRequest("CPU_A", "CPU", {**F32, "B": "c:d"}), DeviceRequest("GPU", "GPU")]
    assert list(found) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("AUTO", "AUTO"),
        ("AUTO:GPU,CPU", "AUTO"),
        ("MULTI:GPU", "MULTI"),
        ("BATCH:GPU(4)", "BATCH"),
        ("HETERO", "HETERO"),
        ("HETERO:AUTO,CPU", "AUTO"),
        ("CPU_A=AUTO", "AUTO"),
        ("CPU,CPU", "twice"),
        ("CPU{A:1},CPU{A:2}", "twice"),
        ("GPU,GPU.1", "GPU.0"),
        (",", "cannot read"),
        ("CPU,", "cannot read"),
        ("CPU{A:1", "cannot read"),
        ("CPU{}", "cannot read"),
        ("CPU{A}", "cannot read"),
        ("CPU{A:1,A:2}", "cannot read"),
        ("CPU.A=CPU", "dot"),
        ("GPU=GPU.1", "not a device's own"),
        ("CPU_NULL=CPU", "itself uses"),
        ("GPU{DEVICE_ID:1}", "GPU.1"),
        ("BIG=CPU", "must contain 'CPU'"),
        ("CPU{INFERENCE_NUM_THREADS:1},GPU", "taskset"),
        ("CPU_A=CPU{NUM_STREAMS:1},CPU_B=CPU{NUM_STREAMS:2}", "NUM_STREAMS"),
        ("CPU,CPU_B=CPU{ENABLE_HYPER_THREADING:NO}", "ENABLE_HYPER_THREADING"),
        ("GPU_A=GPU{NUM_STREAMS:1},GPU_B=GPU.0{NUM_STREAMS:2}", "NUM_STREAMS"),
    ],
)
def test_refuses_in_one_line(text, said):
    with pytest.raises(OvplaceError, match=said) as caught:
        parse_devices(text)
    assert "\n" not in str(caught.value)


def test_threads_alone_and_equal_scheduling_are_fine():
    assert parse_devices("CPU{INFERENCE_NUM_THREADS:1}")
    assert parse_devices("CPU_A=CPU{NUM_STREAMS:1},CPU_B=CPU{NUM_STREAMS:1,A:b}")


@given(st.text("CPUGHETRO.=,:{}_1 ", max_size=20))
def test_any_text_is_read_or_refused(text):
    try:
        found = parse_devices(text)
    except OvplaceError:
        return
    check_together(found)
    assert found


@given(st.dictionaries(st.from_regex(r"[A-Z_]{1,8}", fullmatch=True), st.from_regex(r"\w{1,5}", fullmatch=True)))
def test_what_is_written_is_read_back(properties):
    braces = "{" + ",".join(f"{key}:{value}" for key, value in properties.items()) + "}" if properties else ""
    assert parse_devices(f"CPU_A=CPU{braces}") == (DeviceRequest("CPU_A", "CPU", properties),)


def test_tables():
    found = from_tables({"CPU_A": {"base": "CPU", "properties": {"A": True, "B": 2}}})
    assert found == {"CPU_A": DeviceRequest("CPU_A", "CPU", {"A": "YES", "B": "2"})}


@pytest.mark.parametrize(
    "table",
    [
        3,
        {},
        {"base": 1},
        {"base": "CPU", "x": 1},
        {"base": "CPU", "properties": 1},
        {"base": "CPU", "properties": {"A": []}},
    ],
)
def test_bad_tables_are_refused_with_their_place(table):
    with pytest.raises(ConfigError, match=r"\[devices.CPU_A\]"):
        from_tables({"CPU_A": table})
    with pytest.raises(UsageError, match=r"\[devices.CPU_DEFAULT\]"):
        from_tables({"CPU_DEFAULT": {"base": "CPU"}})


@pytest.mark.parametrize("key", ["CACHE_DIR", "CONFIG_FILE"])
def test_no_device_reads_or_writes_files(key):
    with pytest.raises(DeviceError, match=f"sets {key}"):
        parse_devices(f"CPU{{{key}:/tmp/x}}")
