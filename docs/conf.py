"""Configuration of the documentation site; `make docs` builds it into build/docs."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from ovplace.version import __version__

project = "ovplace"
author = "the authors of ovplace"
copyright = f"2026, {author}"
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "docstrings",
    "command_line",
    "settings",
    "results",
]
exclude_patterns = ["_ext"]
nitpicky = True
# Types of other libraries are not described here.
nitpick_ignore_regex = [("py:.*", r"(?!ovplace\.).*")]

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # tests/test_notebooks.py executes them; the site shows what they printed

default_role = "code"  # docstrings write names in single backticks
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False

html_theme = "furo"
html_title = f"ovplace {version}"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_copy_source = False
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
