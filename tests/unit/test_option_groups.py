"""Groups of options: what typer sees, and what the command gets."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, get_args

import pytest
import typer
from typer.testing import CliRunner

from amcc.cli.options.groups import OptionGroup, flat, options_of, signed


@dataclass(frozen=True)
class Where(OptionGroup):
    """Two options, one of which has the name that commands give to the group."""

    where: Annotated[Path | None, typer.Option(help="A place.")] = None
    deep: Annotated[int, typer.Option(min=0)] = 2


@dataclass(frozen=True)
class WhereElse(Where):
    further: Annotated[bool, typer.Option("--further")] = False


@dataclass(frozen=True)
class Needed(OptionGroup):
    size: Annotated[int, typer.Option()]


def seen(command) -> list[str]:
    return list(inspect.signature(command).parameters)


def called(command, *arguments: str, code: int = 0) -> str:
    """What a command prints when people type this."""
    app = typer.Typer(add_completion=False)
    app.command()(flat(command))
    run = CliRunner().invoke(app, list(arguments))
    assert run.exit_code == code, run.output
    return run.output.strip()


def show(*, name: str, where: Where, last: bool = False) -> None:
    """Print it."""
    typer.echo(f"{name} {where} {last}")


def test_options_stand_where_the_group_stands():
    assert seen(flat(show)) == ["name", "where", "deep", "last"]


def test_a_command_without_groups_stays_as_it_is():
    def plain(a: int, b: str = "x") -> None: ...

    assert seen(flat(plain)) == ["a", "b"]
    assert inspect.signature(flat(plain)).parameters["b"].default == "x"


def test_options_keep_kinds_and_defaults():
    parameters = inspect.signature(flat(show)).parameters
    assert parameters["deep"].default == 2
    kind, option = get_args(parameters["deep"].annotation)
    assert (kind, option.min) == (int, 0)
    assert parameters["name"].default is inspect.Parameter.empty
    assert {each.kind for each in parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}


def test_name_and_help_stay():
    assert (flat(show).__name__, flat(show).__doc__) == ("show", "Print it.")


def test_the_command_gets_the_group():
    assert called(show, "ann") == "ann Where(where=None, deep=2) False"
    given = called(show, "ann", "--where", "here", "--deep", "3", "--last")
    assert given == f"ann Where(where={Path('here')!r}, deep=3) True"


def test_wrong_values_are_refused_as_ever():
    assert "--deep" in called(show, "ann", "--deep", "-1", code=2)


def test_a_group_of_a_group_has_the_options_of_both():
    def far(*, where: WhereElse) -> None:
        typer.echo(where)

    assert seen(flat(far)) == ["where", "deep", "further"]
    assert called(far, "--further") == "WhereElse(where=None, deep=2, further=True)"


def test_a_field_without_default_must_be_given():
    def sized(*, needed: Needed) -> None:
        typer.echo(needed.size)

    assert inspect.signature(flat(sized)).parameters["size"].default is inspect.Parameter.empty
    assert called(sized, "--size", "4") == "4"
    assert "--size" in called(sized, code=2)


def test_two_groups_do_not_mix():
    def both(*, needed: Needed, where: Where) -> None:
        typer.echo(f"{needed} {where}")

    assert called(both, "--size", "1", "--deep", "5") == "Needed(size=1) Where(where=None, deep=5)"


def test_options_of_a_group_in_the_order_of_its_fields():
    assert [each.name for each in options_of(WhereElse)] == ["where", "deep", "further"]


def test_signed_functions_say_what_they_take():
    def run(**arguments: object) -> None: ...

    signed(run, [inspect.Parameter("a", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=int)])
    assert str(inspect.signature(run)) == "(*, a: int)"
    assert run.__annotations__ == {"a": int}


def test_groups_do_not_change():
    with pytest.raises(AttributeError):
        Where().deep = 3  # type: ignore[misc]
