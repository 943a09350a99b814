"""Mechanical changes of a module, each of which a test should notice.

Only what decides is changed: conditions, comparisons, numbers, steps that are left out. What is
said in errors and logs is not.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_CALLED = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """One change of a module.

    `number` is its place among the mutants of the module, which are always the same. `function` is
    the first line of the innermost function it is in, 0 if it is in none, and `place` the name of
    that function. `twin` counts the equal changes of one function.
    """

    module: str
    number: int
    line: int
    what: str
    function: int = 0
    place: str = ""
    twin: int = 0

    def __str__(self) -> str:
        """Return a name that a change elsewhere in the module does not alter."""
        twin = f" (again, {self.twin})" if self.twin else ""
        return f"{self.module} {self.place or 'the module'}: {self.what}{twin}"


@dataclass(frozen=True)
class _Site:
    line: int
    what: str
    apply: Callable[[], Callable[[], None]]
    """Changes the tree; what it returns changes it back."""


def mutants_of(root: Path, module: str) -> list[Mutant]:
    tree = ast.parse((root / module).read_text(encoding="utf-8"))
    functions = list(_functions(tree))
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for number, site in enumerate(_sites(tree)):
        function, place = _innermost(functions, site.line)
        twin = seen[place, site.what]
        seen[place, site.what] += 1
        found.append(Mutant(module, number, site.line, site.what, function, place, twin))
    return found


def _functions(node: ast.AST, inside: str = "") -> Iterator[tuple[range, int, str]]:
    """Yield the lines of each body, the first line of its code with decorators, and its name."""
    for child in ast.iter_child_nodes(node):
        name = inside
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{inside}.{child.name}".lstrip(".")
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            body = range(child.body[0].lineno, (child.end_lineno or child.lineno) + 1)
            yield body, min([child.lineno, *(d.lineno for d in child.decorator_list)]), name
        yield from _functions(child, name)


def _innermost(functions: list[tuple[range, int, str]], line: int) -> tuple[int, str]:
    around = [(len(lines), first, name) for lines, first, name in functions if line in lines]
    return min(around, default=(0, 0, ""))[1:]


@contextmanager
def applied(root: Path, mutant: Mutant) -> Iterator[None]:
    """The module of this tree is the mutant's meanwhile."""
    path = root / mutant.module
    before = path.read_text(encoding="utf-8")
    tree = ast.parse(before)
    list(_sites(tree))[mutant.number].apply()
    path.write_text(ast.unparse(tree), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(before, encoding="utf-8")


def _sites(tree: ast.Module) -> Iterator[_Site]:
    for node in _deciding(tree):
        yield from _conditions(node)
        yield from _values(node)
        yield from _steps(node)


def _conditions(node: ast.AST) -> Iterator[_Site]:
    if isinstance(node, ast.Compare):
        for at, op in enumerate(node.ops):
            yield _swap(node, node.ops, at, _COMPARED[type(op)]())
    elif isinstance(node, ast.BoolOp):
        yield _set(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield _set(node, "test", ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.comprehension):
        for at, condition in enumerate(node.ifs):
            yield _swap(condition, node.ifs, at, ast.UnaryOp(ast.Not(), condition))


def _values(node: ast.AST) -> Iterator[_Site]:
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in _COMPUTED:
        yield _set(node, "op", _COMPUTED[type(node.op)]())
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield _set(node, "value", not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield _set(node, "value", node.value + 1)
    elif isinstance(node, ast.Name) and node.id in _CALLED:
        yield _set(node, "id", _CALLED[node.id])


def _steps(node: ast.AST) -> Iterator[_Site]:
    """A call that is left out; `continue` and `break` in each other's place."""
    for name in ("body", "orelse", "finalbody"):
        body = getattr(node, name, None)
        if not isinstance(body, list):
            continue
        for at, step in enumerate(body):
            is_call = isinstance(step, ast.Expr) and isinstance(step.value, ast.Call)
            if is_call and not _is_said(step):
                yield _swap(step, body, at, ast.Pass())
            elif isinstance(step, ast.Continue):
                yield _swap(step, body, at, ast.Break())
            elif isinstance(step, ast.Break):
                yield _swap(step, body, at, ast.Continue())


def _deciding(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those of annotations, decorators, texts, errors and logs, in their order."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr | ast.Raise):
                continue
            if not _is_said(child) and not _is_definition_of_types(child):
                yield from _deciding(child)


def _is_said(node: ast.AST) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and ast.unparse(call.func).startswith(("_log.", "logging."))


def _is_definition_of_types(node: ast.AST) -> bool:
    guarded = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    return guarded or isinstance(node, ast.Import | ast.ImportFrom)


def _set(node: Any, name: str, new: object) -> _Site:
    old = getattr(node, name)

    def apply() -> Callable[[], None]:
        setattr(node, name, new)
        return lambda: setattr(node, name, old)

    return _described(node, node, apply)


def _swap(node: Any, items: list[Any], at: int, new: object) -> _Site:
    old = items[at]

    def apply() -> Callable[[], None]:
        items[at] = new

        def undo() -> None:
            items[at] = old

        return undo

    return _described(node, node if isinstance(new, ast.cmpop) else new, apply)


def _described(node: Any, becomes: Any, apply: Callable[[], Callable[[], None]]) -> _Site:
    before = _shown(node)
    undo = apply()
    after = _shown(becomes)
    undo()
    return _Site(node.lineno, f"{before}  ->  {after}", apply)


def _shown(node: ast.AST) -> str:
    target = node.test if isinstance(node, ast.If | ast.While) else node
    text = " ".join(ast.unparse(ast.fix_missing_locations(target)).split())
    return text if len(text) <= 90 else f"{text[:87]}..."
