"""Options that belong together are one parameter of a command.

    @dataclass(frozen=True)
    class Money(OptionGroup):
        budget: Annotated[str, typer.Option(help="What may be spent.")]
        decimals: Annotated[int, typer.Option(help="Digits after the point.")] = 0

    @grouped
    def buy(*, money: Money, seed: int = 0) -> None: ...

The command line has the options --budget, --decimals and --seed; the command is called with a `Money`. Commands stay
short that way, several can share a group, and what belongs to a group (how its file is read) can be its method.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields
from typing import Any, get_type_hints

Command = Callable[..., None]


@dataclass(frozen=True)
class OptionGroup:
    """Options that belong together: a frozen dataclass, each field annotated as an option."""


def grouped(command: Command) -> Command:
    """Give a command one option for each field of its groups; it is called with the groups."""
    declared = inspect.signature(command, eval_str=True).parameters.values()
    groups = {each.name: each.annotation for each in declared if _is_group(each.annotation)}

    def run(**arguments: Any) -> None:
        objects = {
            name: kind(**{field.name: arguments.pop(field.name) for field in fields(kind)})
            for name, kind in groups.items()
        }
        command(**arguments, **objects)

    # In the order of the declaration, which is that of the help texts.
    parameters = [option for each in declared for option in _options_of(each)]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    return run


def _is_group(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, OptionGroup)


def _options_of(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    """The parameter itself, or one for each field of the group that it is."""
    if not _is_group(parameter.annotation):
        yield parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        return
    kinds = get_type_hints(parameter.annotation, include_extras=True)
    for field in fields(parameter.annotation):
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        yield inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, annotation=kinds[field.name], default=default
        )
