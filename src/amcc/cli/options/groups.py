"""Options that belong together are one object: a command asks for the object, people type the options.

    @dataclass(frozen=True)
    class Rows(OptionGroup):
        output: Output = None
        safe_csv: SafeCsv = False

    def consensus(*, votes: ..., rows: Rows) -> None: ...

Typer knows functions with one parameter per option only. `flat` makes such a function of a command with groups; the
options stand in the help where the group stands in the signature. Groups must have different field names.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields
from functools import wraps
from typing import Any, get_type_hints

Command = Callable[..., None]


class OptionGroup:
    """A frozen dataclass with one field per option: annotated for typer, with its default."""


def flat(command: Command) -> Command:
    """The same command with one keyword parameter per option.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Size(OptionGroup):
    ...     width: int = 3
    ...     height: int = 2
    >>> def area(*, name: str, size: Size) -> None:
    ...     print(name, size.width * size.height)
    >>> list(inspect.signature(flat(area)).parameters)
    ['name', 'width', 'height']
    >>> flat(area)(name="field", width=5, height=2)
    field 10
    """
    declared = inspect.signature(command, eval_str=True).parameters
    groups = {name: each.annotation for name, each in declared.items() if _is_group(each.annotation)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in declared.items():
        parameters += options_of(groups[name]) if name in groups else [parameter]

    @wraps(command)
    def run(**arguments: Any) -> None:
        # All options are taken out before a group is put in: a group may have the name of one of its options.
        made = {name: group(**{each.name: arguments.pop(each.name) for each in fields(group)})
                for name, group in groups.items()}  # fmt: skip
        command(**arguments, **made)

    return signed(run, parameters)


def options_of(group: type) -> list[inspect.Parameter]:
    """The fields of a group as parameters of a function."""
    kinds = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=kinds[field.name],
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
        )
        for field in fields(group)
    ]


def signed(run: Command, parameters: Iterable[inspect.Parameter]) -> Command:
    """The function, which takes any keywords, with these parameters for whoever asks for its signature."""
    named = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    run.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    # Typer reads both, and takes what is annotated from here.
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in named}
    return run


def _is_group(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, OptionGroup)
