"""Parameters of a method as people type them: `--param rows=unit --param n_groups=3`.

What a value may be is read from the type of the constructor's argument, so that a new parameter of a model can be set
from the command line without another word.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from amcc.consensus.parameters import Parameters
from amcc.errors import ParameterError
from amcc.tables import number_in


class Kind(NamedTuple):
    """What a value may be, in words, and how its text is read; a text that does not fit raises ValueError."""

    words: str
    read: Callable[[str], Any]


def set_parameters(model: Parameters, said: Sequence[str], method: str) -> None:
    """Change the model's parameters to what was said, each as NAME=VALUE; `method` is what people call the model."""
    hints, known = get_type_hints(type(model).__init__), model.get_params()
    texts: dict[str, str] = {}
    for each in said:
        name, equals, text = (part.strip() for part in each.partition("="))
        if not (name and equals):
            raise ParameterError(f"--param must look like NAME=VALUE; got {each!r}.")
        if name not in known:
            raise ParameterError(f"-m {method} has no parameter {name!r}; it has {', '.join(known)}.")
        # Which of the two was meant is not for us to guess.
        if name in texts:
            raise ParameterError(
                f"--param must set {name} once; got {name}={texts[name]} and {name}={text}. Leave one of the two out."
            )
        texts[name] = text
    made_by = type(model).__name__
    model.set_params(**{name: parsed(name, text, hints[name], made_by) for name, text in texts.items()})


def parsed(name: str, text: str, hint: Any, made_by: str) -> Any:
    """The value that a text stands for, by the type of its parameter; `made_by` is the class that has it.

    >>> parsed("rank", "3", int | None, "MLJMF"), parsed("rank", "none", int | None, "MLJMF")
    (3, None)
    >>> parsed("tol", "small", float, "MLJMF")
    Traceback (most recent call last):
        ...
    amcc.errors.ParameterError: --param tol=VALUE must be a number; got 'small'.
    """
    kinds = kinds_of(hint)
    for kind in kinds:
        try:
            return kind.read(text)
        except ValueError:
            continue
    words = " or ".join(kind.words for kind in kinds)
    way_out = f" Set it in Python: {made_by}({name}=…)." if ONLY_PYTHON in kinds else ""
    raise ParameterError(f"--param {name}=VALUE must be {words}; got {text!r}.{way_out}")


def kinds_of(hint: Any) -> list[Kind]:
    """What may be typed for a parameter of this type.

    >>> [kind.words for kind in kinds_of(Literal["votes", "all"] | float | None)]
    ["'votes' or 'all'", 'a number', 'none']
    """
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return [kind for part in parts for kind in kinds_of(part)]
    if origin is Literal:
        return [Kind(" or ".join(map(repr, parts)), _one_of({word: word for word in parts}))]
    if origin is tuple and set(parts) == {float}:
        return [Kind(f"{len(parts)} numbers with commas between them", lambda text: _numbers(text, len(parts)))]
    if origin in LISTS and parts == (str,):
        return [Kind("names with commas between them", partial(_names, least=LISTS[origin]))]
    return [SINGLE.get(hint, ONLY_PYTHON)]


def _one_of(values: dict[str, Any]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        if text not in values:
            raise ValueError(text)
        return values[text]

    return read


def _number(text: str) -> float:
    # As everywhere in tables: Python's own reading would take 1_0 and nan, too.
    number = number_in(text)
    if number is None:
        raise ValueError(text)
    return float(number)


def _whole_number(text: str) -> int:
    _number(text)
    return int(text)


def _numbers(text: str, count: int) -> tuple[float, ...]:
    numbers = tuple(_number(part) for part in text.split(","))
    if len(numbers) != count:
        raise ValueError(text)
    return numbers


# Lists of names, and how many there are at least: where a parameter takes a sequence, it takes one name as a text.
LISTS: dict[Any, int] = {Collection: 0, Sequence: 2}


def _names(text: str, least: int) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",")) if text else ()
    if len(names) < least or not all(names):
        raise ValueError(text)
    return names


# What nobody can type: mappings, for one.
ONLY_PYTHON = Kind("a value that only Python can give", _one_of({}))

SINGLE: dict[type, Kind] = {
    int: Kind("a whole number", _whole_number),
    float: Kind("a number", _number),
    bool: Kind("true or false", lambda text: _one_of({"true": True, "false": False})(text.lower())),
    str: Kind("a text", str),
    NoneType: Kind("none", lambda text: _one_of({"none": None})(text.lower())),
}
