"""Signatures of native functions, for inspect.signature, help and completion."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

from . import _core

_DEFAULT = re.compile(r"\\(\d+)")  # stands for a default value that no text says


def _default(node: ast.expr, values: tuple[Any, ...]) -> Any:
    text = ast.unparse(node)
    stands_for = re.fullmatch(r"_default_(\d+)", text)
    if stands_for:
        return values[int(stands_for[1])]
    try:
        return ast.literal_eval(node)
    except ValueError:
        return text


def native_signature(function: Any) -> inspect.Signature:
    """What nanobind says of the function, of its first form where it has several."""
    text, _, values = function.__nb_signature__[0]
    text = _DEFAULT.sub(r"_default_\1", text)
    node = ast.parse(f"{text}: ...").body[0]
    assert isinstance(node, ast.FunctionDef)
    kinds = inspect.Parameter
    arguments = node.args
    plain: list[tuple[ast.arg, Any]] = [(a, kinds.POSITIONAL_ONLY) for a in arguments.posonlyargs]
    plain += [(a, kinds.POSITIONAL_OR_KEYWORD) for a in arguments.args]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
    all_defaults = [*defaults, *([None] if arguments.vararg else []), *arguments.kw_defaults]
    if arguments.vararg:
        plain.append((arguments.vararg, kinds.VAR_POSITIONAL))
    plain += [(a, kinds.KEYWORD_ONLY) for a in arguments.kwonlyargs]
    if arguments.kwarg:
        plain.append((arguments.kwarg, kinds.VAR_KEYWORD))
        all_defaults.append(None)
    parameters = [
        kinds(
            argument.arg,
            kind,
            default=kinds.empty if default is None else _default(default, values or ()),
            annotation=ast.unparse(argument.annotation) if argument.annotation else kinds.empty,
        )
        for (argument, kind), default in zip(plain, all_defaults)
    ]
    returns = ast.unparse(node.returns) if node.returns else inspect.Signature.empty
    return inspect.Signature(parameters, return_annotation=returns)


def _with_signature(function: Any) -> Any:
    """A function of Python in front of a native one, which cannot have attributes."""

    def call(*args: Any, **keywords: Any) -> Any:
        return function(*args, **keywords)

    call.__name__ = function.__name__
    call.__qualname__ = function.__qualname__
    call.__module__ = function.__module__
    call.__doc__ = function.__doc__
    call.__signature__ = native_signature(function)  # type: ignore[attr-defined]
    return call


def give_signatures() -> None:
    """Let inspect.signature see what the native part of the package takes."""
    for name in ("build_pair", "load", "presets", "solvers"):
        setattr(_core, name, _with_signature(getattr(_core, name)))
    for cls in (_core.Coupling, _core.Pair):
        for name, member in list(vars(cls).items()):
            if not name.startswith("_") and hasattr(member, "__nb_signature__"):
                setattr(cls, name, _with_signature(member))
        setattr(cls, "__signature__", inspect.Signature())  # noqa: B010  nobody calls them


give_signatures()
