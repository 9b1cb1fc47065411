"""Parameters of methods from the command line: every one is read by its type, or refused with a reason."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

import pytest

from amcc.cli.fitting import ModelChoice
from amcc.cli.options.parameters import parsed
from amcc.consensus import METHODS
from amcc.errors import ParameterError


@pytest.mark.parametrize(
    ("text", "hint", "value"),
    [
        ("3", int, 3),
        ("-1", int, -1),
        ("1e-5", float, 1e-5),
        ("2", float, 2.0),
        ("true", bool, True),
        ("False", bool, False),
        ("unit", Literal["simplex", "unit"], "unit"),
        ("None", int | None, None),
        ("7", int | None, 7),
        ("0.5", Literal["votes"] | float, 0.5),
        ("votes", Literal["votes"] | float, "votes"),
        ("2, 1", tuple[float, float], (2.0, 1.0)),
        ("a=b", str, "a=b"),
        ("families", Collection[str], ("families",)),
        ("families, degrees", Collection[str], ("families", "degrees")),
        ("ann,bob", Sequence[str] | str | None, ("ann", "bob")),
        ("none", Sequence[str] | str | None, "none"),
    ],
)
def test_values_are_read_by_their_type(text, hint, value):
    found = parsed("name", text, hint, "Model")
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "hint", "words"),
    [
        ("2.5", int, "a whole number"),
        ("1_0", int, "a whole number"),
        ("nan", float, "a number"),
        ("1", bool, "true or false"),
        ("round", Literal["simplex", "unit"], "'simplex' or 'unit'"),
        ("", int | None, "a whole number or none"),
        ("1,2,3", tuple[float, float], "2 numbers with commas between them"),
        ("a,,b", Collection[str], "names with commas between them"),
    ],
)
def test_a_value_that_cannot_be_read_says_what_is_needed(text, hint, words):
    with pytest.raises(ParameterError, match=f"^--param name=VALUE must be {words}; got {text!r}.$"):
        parsed("name", text, hint, "Model")


def test_what_only_python_can_give_is_said_with_its_call():
    words = r"^--param settings=VALUE must be a value that only Python can give or none; got 'a'. "
    with pytest.raises(ParameterError, match=words + r"Set it in Python: AMCC\(settings=…\)\.$"):
        ModelChoice("amcc", ["settings=a"]).make()


def test_a_model_has_the_parameters_that_were_said():
    model = ModelChoice("amcc-printed", ["rows=unit", "n_groups = 4"]).make()
    assert repr(model) == "PaperAMCC(n_groups=4, rows='unit', printed=True, max_iter=100)"


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("rows", "--param must look like NAME=VALUE; got 'rows'"),
        ("=unit", "--param must look like NAME=VALUE; got '=unit'"),
        ("row=unit", "^-m amcc-frobenius has no parameter 'row'; it has n_groups, .* rows, "),
    ],
)
def test_what_names_no_parameter_is_refused(said, message):
    with pytest.raises(ParameterError, match=message):
        ModelChoice("amcc-frobenius", [said]).make()


def test_a_parameter_is_set_once():
    with pytest.raises(ParameterError, match=r"--param must set n_groups once; got n_groups=3 and n_groups=4\."):
        ModelChoice("amcc", ["n_groups=3", "tol=1e-3", "n_groups = 4"]).make()


@pytest.mark.parametrize("method", METHODS)
def test_every_default_can_be_typed(method):
    """Read back from its text, each parameter of each method is what it was."""
    params = ModelChoice(method).make().get_params()
    params.pop("reference", None)  # typed, none is nobody
    said = [f"{name}={','.join(map(str, v)) if isinstance(v, tuple) else v}" for name, v in params.items()]
    assert ModelChoice(method, said).make().get_params().items() >= params.items()
