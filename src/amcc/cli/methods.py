"""amcc methods: the consensus methods by name.

The list is made from the models themselves: the first sentence of a docstring says what the model does, and `METHODS`
says which names are variants of which model. Nothing has to be written here for a new method.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import partial

from amcc.cli.console import screen, titled_table
from amcc.cli.fitting import DEFAULT_METHOD
from amcc.cli.output import Json, print_json
from amcc.consensus import METHODS, ConsensusModel


def methods(as_json: Json = False) -> None:
    """List the methods that -m and --methods know, with one line each."""
    described = {name: description(name) for name in METHODS}
    users = [name for name, make in METHODS.items() if make().uses_features]
    if as_json:
        print_json({"default": DEFAULT_METHOD, "uses_features": users, "methods": described})
        return
    rows = ([f"{name}{' (default)' * (name == DEFAULT_METHOD)}", text] for name, text in described.items())
    screen.print(titled_table(["method", "what it does"], rows))
    screen.print(f"With features of the items (--features): {', '.join(users)}.")


def description(name: str) -> str:
    """First sentence of the model's docstring, or of which method it is a variant, with what settings.

    >>> description("majority")
    'A label is present when more workers say yes than no (an even split is a no).'
    """
    method = METHODS[name]
    if not isinstance(method, partial):
        return _first_sentence(method)
    settings = ", ".join(f"{parameter}={value}" for parameter, value in method.keywords.items())
    return f"{_name_of(method.func)} with {settings}"


def _name_of(model: Callable[..., ConsensusModel]) -> str:
    """What users call a model; its class, where it has no name of its own."""
    return next((name for name, method in METHODS.items() if method is model), model.__name__)


def _first_sentence(model: Callable[..., ConsensusModel]) -> str:
    """What stands before the first full stop that is followed by a space; 0.5 does not end a sentence."""
    paragraph = (inspect.getdoc(model) or "").partition("\n\n")[0]
    return re.split(r"(?<=\.)\s", " ".join(paragraph.split()), maxsplit=1)[0]
