"""Mutations of a source: one operator, constant, condition, result or statement changed at a time.

Left out are what cannot matter to a test (docstrings, annotations, the words of an error, code for other systems),
decorators, and statements outside of functions, without which a module often cannot be imported.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_OPPOSITE: tuple[tuple[type[ast.AST], type[ast.AST]], ...] = (
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
    (ast.Add, ast.Sub),
    (ast.Mult, ast.Div),
    (ast.BitOr, ast.BitAnd),
    (ast.LShift, ast.RShift),
    (ast.And, ast.Or),
)
_SWAPS = {**dict(_OPPOSITE), **{b: a for a, b in _OPPOSITE}, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult}
_REMOVABLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.Raise, ast.Continue, ast.Break, ast.Delete)


@dataclass(frozen=True)
class Mutation:
    """One change of a source.

    Attributes:
        index: position of the changed node among all nodes, in the order of `ast.walk`.
        line: first line that changes.
        end: last line that changes.
        kind: what is done, such as `comparison`.
        before: the node as text.
        new: the node that replaces it.
    """

    index: int
    line: int
    end: int
    kind: str
    before: str
    new: ast.AST

    def __str__(self) -> str:
        """Return it in one line."""
        after = ast.unparse(self.new)
        return f"{self.line}: {self.kind}: {_short(self.before)} -> {_short(after)}"

    def applied(self, source: str) -> ast.Module:
        """Return the tree of the changed source."""
        tree = ast.parse(source)
        target = list(ast.walk(tree))[self.index]
        _Replace(target, ast.copy_location(copy.deepcopy(self.new), target)).visit(tree)
        return ast.fix_missing_locations(tree)


def mutations(source: str) -> list[Mutation]:
    """Return all mutations of a source."""
    tree = ast.parse(source)
    left_out = set(_left_out(tree))
    inside = {id(node) for function in _functions(tree) for node in ast.walk(function) if node is not function}
    return [
        Mutation(index, node.lineno, node.end_lineno or node.lineno, kind, ast.unparse(node), new)
        for index, node in enumerate(ast.walk(tree))
        if isinstance(node, ast.expr | ast.stmt) and id(node) not in left_out
        for kind, new in _changes(node, inside=id(node) in inside)
    ]


def _changes(node: ast.AST, *, inside: bool) -> Iterator[tuple[str, ast.AST]]:
    yield from _other_operators(node)
    match node:
        case ast.IfExp():
            yield "condition", ast.IfExp(_negated(node.test), node.body, node.orelse)
        case ast.If():
            yield "condition", ast.If(_negated(node.test), node.body, node.orelse)
        case ast.Return(value=ast.expr() as value) if not _is_none(value):
            yield "return", ast.Return(ast.Constant(None))
        case ast.Constant(value=value) if isinstance(value, bool | int | float | str):
            yield "constant", ast.Constant(_other(value))
    if inside and isinstance(node, _REMOVABLE):
        yield "removal", ast.Pass()


def _other_operators(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Compare():
            for place, op in enumerate(node.ops):
                ops = [*node.ops[:place], _swapped(op), *node.ops[place + 1 :]]
                yield "comparison", ast.Compare(node.left, ops, node.comparators)
        case ast.BinOp(op=op) if type(op) in _SWAPS:
            yield "arithmetic", ast.BinOp(node.left, _swapped(op), node.right)
        case ast.AugAssign(op=op) if type(op) in _SWAPS:
            yield "arithmetic", ast.AugAssign(node.target, _swapped(op), node.value)
        case ast.BoolOp():
            yield "boolean", ast.BoolOp(_swapped(node.op), node.values)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield "boolean" if isinstance(node.op, ast.Not) else "arithmetic", node.operand


def _other(value: bool | float | str) -> bool | float | str:
    if isinstance(value, bool):
        return not value
    return f"XX{value}" if isinstance(value, str) else value + 1


def _negated(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _swapped(op: ast.AST) -> Any:
    return _SWAPS[type(op)]()


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def _left_out(tree: ast.AST) -> Iterator[int]:
    """Yield the identities of nodes whose change no test can see, or that are no part of what runs."""
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            parts += node.decorator_list
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            parts += [node]  # a docstring
        if isinstance(node, ast.AnnAssign | ast.arg):
            parts += [node.annotation]
        if isinstance(node, ast.FunctionDef):
            parts += [node.returns]
        if isinstance(node, ast.If) and ast.unparse(node.test) == "sys.platform == 'win32'":
            parts += node.body  # these tests run where processes fork
        yield from (id(below) for part in parts if part for below in ast.walk(part))
        if isinstance(node, ast.Raise) or _is_error(node):
            yield from (id(below) for below in ast.walk(node) if below is not node and _is_text(below))
        if isinstance(node, ast.FormattedValue) and node.format_spec:
            yield from map(id, ast.walk(node.format_spec))


def _is_error(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("Error")


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 60 else f"{line[:57]}..."


class _Replace(ast.NodeTransformer):
    def __init__(self, target: ast.AST, new: ast.AST) -> None:
        self._target, self._new = target, new

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self._target:
            return self._new
        self.generic_visit(node)
        return node
