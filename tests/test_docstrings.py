"""The docstrings of the package explain arguments and name errors: the rule is in CONTRIBUTING.md."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import ovplace

ROOT = Path(ovplace.__file__).parent
SECTIONS = ("Args", "Returns", "Raises")
EXEMPT = ("fixture", "command", "group", "overload")
"""Decorators of functions that are documented elsewhere: fixtures, commands (their docstrings are help texts)."""


class Sources:
    """Modules as syntax trees, and the methods and bases of their classes, by dotted names."""

    def __init__(self, texts):
        self.trees = {module: ast.parse(text) for module, text in texts.items()}
        self.methods, self.bases = {}, {}
        for module, tree in self.trees.items():
            known = {}
            for node in tree.body:
                if isinstance(node, ast.ImportFrom):
                    known |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
                if isinstance(node, ast.ClassDef):
                    self.bases[f"{module}.{node.name}"] = [dotted(base, known) for base in node.bases]
                    known[node.name] = f"{module}.{node.name}"
                    self.methods[known[node.name]] = {of.name for of in node.body if isinstance(of, ast.FunctionDef)}

    def faults(self):
        for module, tree in self.trees.items():
            for function, owner in public(tree):
                faults = self.of(function, owner and f"{module}.{owner.name}")
                yield from (f"{module}:{function.lineno} {function.name}: {text}" for text in faults)

    def of(self, function, owner):
        text = ast.get_docstring(function) or ""
        yield from (f"has two sections {name}" for name in SECTIONS if len(sections(text, name)) > 1)
        own = arguments(function, owner)
        if explained := sections(text, "Args"):
            names = set(re.findall(r"\*{0,2}\w+(?=[,:])", explained[0]))
            yield from (f"'{name}' is not under Args" for name in own if name not in names)
        elif len(own) > 1 and not (owner and self.inherits(owner, function.name)):
            yield "has no section Args"
        if raises(function) and not sections(text, "Raises"):
            yield "has no section Raises"

    def inherits(self, owner, method):
        """Return whether a base within the package has the method; ruff sees that it has a docstring."""
        bases = self.bases.get(owner, ())
        return any(method in self.methods.get(base, ()) or self.inherits(base, method) for base in bases)


def dotted(base, known):
    """Return the dotted name of a base class: `protocols.Placer` is `ovplace.plugins.protocols.Placer`."""
    head, dot, rest = re.sub(r"\[.*", "", ast.unparse(base)).partition(".")
    return known.get(head, head) + dot + rest


def public(tree, owner=None):
    """Yield the public functions and methods, each with its class or None."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from public(node, node)
        if isinstance(node, ast.FunctionDef) and (node.name == "__init__" or not node.name.startswith(("_", "test_"))):
            decorators = " ".join(map(ast.unparse, node.decorator_list))
            if not any(name in decorators for name in EXEMPT):
                yield node, owner


def arguments(function, owner):
    of = function.args
    starred = [f"*{of.vararg.arg}"] if of.vararg else []
    starred += [f"**{of.kwarg.arg}"] if of.kwarg else []
    named = [arg.arg for arg in (*of.posonlyargs, *of.args)][owner is not None :]
    return [*named, *(arg.arg for arg in of.kwonlyargs), *starred]


def sections(text, name):
    """Return the sections of that name: the lines below the heading that are indented."""
    return re.findall(rf"^{name}:\n((?:(?: .*)?\n?)*)", text, re.MULTILINE)


def raises(function):
    """Return whether it raises an error of its own: not again, and not for what a subclass must write."""
    waiting = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise) and node.exc and "NotImplementedError" not in ast.unparse(node.exc):
            return True
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(node)
    return False


def test_every_argument_and_error_is_explained():
    paths = {".".join(path.relative_to(ROOT.parent).with_suffix("").parts): path for path in ROOT.rglob("*.py")}
    texts = {name.removesuffix(".__init__"): path.read_text(encoding="utf-8") for name, path in paths.items()}
    assert len(texts) > 300
    assert not sorted(Sources(texts).faults())


GOOD = '''
class Base:
    def f(self, a, b):
        """Do it.

        Args:
            a: one.
            b: other,
                as long as it takes.

        Raises:
            ValueError: it fails.
        """
        raise ValueError

class Mine(Base):
    def f(self, a, b):
        """Do it faster."""

def g(*a, **b):
    """Do it.

    Args:
        *a, **b: both.
    """
'''


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("", "", []),
        ("a: one.", "c: one.", ["m:3 f: 'a' is not under Args"]),
        ("Args:\n            a", "Note:\n            a", ["m:3 f: has no section Args"]),
        ("Raises:", "Errors:", ["m:3 f: has no section Raises"]),
        ("Mine(Base)", "Mine", ["m:17 f: has no section Args"]),
        ("Raises", "Args:\n            b: other.\n\n        Raises", ["m:3 f: has two sections Args"]),
        ("**b: both", "b: both", ["m:20 g: '**b' is not under Args"]),
    ],
)  # fmt: skip
def test_it_is_seen(old, new, found):
    assert list(Sources({"m": GOOD.replace(old, new, 1)}).faults()) == found
