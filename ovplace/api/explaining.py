"""`ovplace.explain`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from ovplace.api.measurement import without_search
from ovplace.api.options import MeasureOptions, placement_table
from ovplace.api.python_texts import with_python_texts
from ovplace.commands.explain import Explanation
from ovplace.commands.explain import explain as explain_all
from ovplace.progress import showing
from ovplace.session.events import Listener

if TYPE_CHECKING:
    import openvino as ov


@with_python_texts
def explain(
    model: str | Path | ov.Model,
    placement: Mapping[str, str] | None = None,
    *,
    settings: str | Sequence[str] = (),
    config_file: str | Path | None = None,
    progress: bool = True,
    listener: Listener | None = None,
    **options: Unpack[MeasureOptions],
) -> Explanation:
    """Return which operations of a model would run on which device, and why; nothing is timed.

    Args:
        model: a file of any format OpenVINO reads, or an in-memory model; `demo` comes with ovplace.
        placement: device of each operation of the prepared model; None for HETERO's automatic mode.
        settings: `section.key=value` strings, as `--set` takes them.
        config_file: a TOML file, or the name of one that comes with ovplace.
        progress: show a progress bar, where there is a terminal or a notebook.
        listener: a function that is called at each step (`Progress`), in place of the progress bar.
        **options: where: `device=["GPU", "CPU"]`, `machine="core-ultra"`, ... (`MeasureOptions`).

    Returns:
        The devices with what they support, the submodels, and the bytes that are copied between devices.

    Raises:
        OvplaceError: the model, a device or the placement is not usable.

    Example:
        >>> import ovplace
        >>> found = ovplace.explain("models/demo.xml", machine="core-ultra", device="NPU,CPU")
        >>> found.rule.value, len(found.submodels), found.cut_bytes
        ("HETERO's automatic mode", 19, 1843200)
        >>> found.devices[0].unsupported
        {'Softmax': 1, 'Sin': 1}
    """
    with without_search(model, options, settings, config_file) as config, showing(progress, listener) as shown:
        return explain_all(config, placement_table(placement), shown)
