"""Which models there are, and by which names the command line knows them.

A model registers itself when its class is made: `class Mine(ConsensusModel, methods={"mine": {}})`. The modules of the
folder `models` are imported here; a model of somebody else is known as soon as its module is imported.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amcc.errors import FileFormatError, ParameterError

if TYPE_CHECKING:
    from amcc.consensus.base import ConsensusModel

METHODS: dict[str, Callable[..., ConsensusModel]] = {}
"""Makers of models by the names that users type; a name may stand for a model with other than default parameters."""


def register(model: type[ConsensusModel], methods: Mapping[str, Mapping[str, Any]]) -> None:
    """Make a model known under these names, each with the parameters that it stands for."""
    made = {name: partial(model, **params) if params else model for name, params in methods.items()}
    # Modules import each other, so they do not come in the order in which people look for a name.
    found = sorted({**METHODS, **made}.items())
    METHODS.clear()
    METHODS.update(found)


@cache
def find_models() -> None:
    """Import every model of the folder `models`."""
    from amcc.consensus import models

    for module in pkgutil.iter_modules(models.__path__):
        import_module(f"{models.__name__}.{module.name}")


def make_model(method: str) -> ConsensusModel:
    """The model of that name with its default settings."""
    if method not in METHODS:
        raise ParameterError(f"method must be one of {', '.join(METHODS)}; got {method!r}.")
    return METHODS[method]()


def class_of(make: Callable[..., ConsensusModel]) -> type[ConsensusModel]:
    """The class behind an entry of `METHODS`."""
    found: Any = make.func if isinstance(make, partial) else make
    return found  # type: ignore[no-any-return]


def methods_that(has: Callable[[type[ConsensusModel]], bool]) -> list[str]:
    """Names of the methods whose class has a property, as messages list them: `AMCC (-m amcc)`."""
    return [f"{class_of(make).__name__} (-m {name})" for name, make in METHODS.items() if has(class_of(make))]


def load_model(path: str | Path) -> ConsensusModel:
    """Read any model that was saved."""
    from amcc.consensus.saving import read_model_file

    meta, arrays = read_model_file(path)
    for make in METHODS.values():
        if (model := class_of(make)).__name__ == meta["model"]:
            return model.from_file(Path(path), meta, arrays)
    raise FileFormatError(f"{path} holds a {meta['model']!r}, which this version of amcc does not know.")
