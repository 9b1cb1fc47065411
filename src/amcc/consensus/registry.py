"""Which models there are, and by which names the command line knows them.

A model registers itself when its class is made: `class Mine(ConsensusModel, methods={"mine": {}})`. Its file in the
folder `models` is called like its method, so the names are known before any model is imported, and a fit imports the
one that it uses. A model of somebody else is known as soon as its module is imported.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amcc.errors import FileFormatError, ParameterError

if TYPE_CHECKING:
    from amcc.consensus.base import ConsensusModel

FOLDER = "amcc.consensus.models"

# The default has a folder of its own beside it.
DEFAULT, DEFAULT_HOME = "amcc", "amcc.consensus.default"

# The methods of files that hold others than that of their own name.
HOLD = {"mcmld": ("mcmld", "mcmli"), "paper": ("amcc-frobenius", "amcc-printed")}


class Methods(MutableMapping[str, "Callable[..., ConsensusModel]"]):
    """Makers of models by the names of methods; the file of a model is imported when somebody asks for its maker."""

    def __init__(self) -> None:
        files = [module.name for module in pkgutil.iter_modules([str(Path(__file__).parent / "models")])]
        self._homes = {DEFAULT: DEFAULT_HOME} | {
            name: f"{FOLDER}.{file}" for file in files for name in HOLD.get(file, (file.replace("_", "-"),))
        }
        self._made: dict[str, Callable[..., ConsensusModel]] = {}

    def __getitem__(self, method: str) -> Callable[..., ConsensusModel]:
        if method not in self._made:
            home = self._homes[method]
            import_module(home)
            if method not in self._made:
                raise ImportError(f"{home} must hold the method {method!r}, which it is called like; it does not.")
        return self._made[method]

    def __setitem__(self, method: str, make: Callable[..., ConsensusModel]) -> None:
        self._made[method] = make

    def __delitem__(self, method: str) -> None:
        del self._made[method]

    def __iter__(self) -> Iterator[str]:
        # Files import each other, so their methods do not come in the order in which people look for a name.
        return iter(sorted({*self._homes, *self._made}))

    def __len__(self) -> int:
        return len({*self._homes, *self._made})


METHODS = Methods()
"""Makers of models by the names that users type; a name may stand for a model with other than default parameters."""


def register(model: type[ConsensusModel], methods: Mapping[str, Mapping[str, Any]]) -> None:
    """Make a model known under these names, each with the parameters that it stands for."""
    METHODS.update({name: partial(model, **params) if params else model for name, params in methods.items()})


def make_model(method: str, **params: Any) -> ConsensusModel:
    """The model of that name with its default settings, but for those that are given."""
    if method not in METHODS:
        raise ParameterError(f"method must be one of {', '.join(METHODS)}; got {method!r}.")
    return METHODS[method]().set_params(**params)


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
