"""Options that are read from a class of settings, so that each is described once."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable, Collection
from typing import Annotated, Any, TypeVar

import typer

F = TypeVar("F", bound=Callable[..., Any])


def with_settings(
    settings: type[Any], only: Collection[str] = (), **shared: Any
) -> Callable[[F], F]:
    """Give a command, in place of its `**settings`, an option for each field of a dataclass.

    A field is `name: Annotated[type, Help("what it does")] = default`. `shared` are annotations of
    options that other commands have too, by the name of the field; `only` names the fields of a
    command that takes some.

    ```py
    @with_settings(Settings, tokenizer=parsing.LanguageTokenizer)
    def meta(dataset: str, **settings: Any) -> None: ...
    ```
    """
    kinds = typing.get_type_hints(settings, include_extras=True)
    options = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None if field.default == () else field.default,
            annotation=shared.get(field.name) or _make_option(field, kinds[field.name]),
        )
        for field in dataclasses.fields(settings)
        if not only or field.name in only
    ]

    def decorate(command: F) -> F:
        signature = inspect.signature(command, eval_str=True)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        command.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
        return command

    return decorate


def list_given(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that were given on the command line or have a default."""
    return {name: value for name, value in settings.items() if value is not None}


def _make_option(field: dataclasses.Field[Any], annotated: Any) -> Any:
    kind, description = typing.get_args(annotated)
    if typing.get_origin(kind) is tuple:
        kind = list[typing.get_args(kind)[0]] | None  # type: ignore[misc]
    return Annotated[
        kind,
        typer.Option(
            f"--{field.name.replace('_', '-')}",
            help=description.text,
            metavar=description.metavar,
            show_default=not (field.default in (None, ()) or field.default is False),
        ),
    ]
