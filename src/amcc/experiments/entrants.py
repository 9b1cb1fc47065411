"""Who takes part in a comparison: a method of amcc, one with other parameters, a model of crowd-kit, or the oracle.

`Entrant` is what stands in a row or column of a table. The board makes its entrants of what a user types
(`entrants_of`, `parse_variant`); the reproduction lists its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from amcc import make_model
from amcc.consensus import METHODS, ConsensusModel
from amcc.errors import MissingExtraError, ParameterError
from amcc.experiments import peers
from amcc.experiments.peers import ORACLE, PEERS

# The method that is also shown with the truth of some items: the default, which users would give it to.
LEARNS_FROM_TRUTH = "amcc"

# A method of amcc and arguments of its constructor.
Variant = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Entrant:
    """What competes under a name.

    name : as tables show it. method : as `amcc.consensus.METHODS`, or the board, knows it.
    params : other arguments of its constructor; pairs, so that entrants can be keys of a dict.
    known : given the truth of so many items, and scored on the others.
    """

    name: str
    method: str
    params: tuple[tuple[str, Any], ...] = ()
    known: int = 0

    @property
    def exists(self) -> bool:
        """Whether this version of amcc has the method."""
        return self.method in METHODS

    @property
    def random(self) -> bool:
        """Whether a seed changes what it finds."""
        return "random_state" in self.model().get_params()

    def model(self, seed: int | None = None) -> ConsensusModel:
        """The model, if it is a method of amcc; with a seed, that of the run with this seed."""
        model = make_model(self.method).set_params(**dict(self.params))
        if seed is not None and "random_state" in model.get_params():
            model.set_params(random_state=seed)
        return model


def known_methods() -> list[str]:
    """Everything that can be named as a method of the board."""
    return [*METHODS, *PEERS, ORACLE]


def installed(methods: Iterable[str]) -> list[str]:
    """Those that can run here, in their order: peers need their tool, all others come with amcc."""
    return [method for method in methods if method not in PEERS or peers.crowdkit_version() is not None]


def entrants_of(methods: Iterable[str], variants: Mapping[str, Variant], known: Iterable[int] = ()) -> list[Entrant]:
    """Methods, the default with the truth of so many items, then variants.

    All are checked before anything runs: a board takes hours, and a slip in its last column must not wait for them.
    """
    entrants = [Entrant(method, method) for method in dict.fromkeys(methods)]
    for entrant in entrants:
        if entrant.method not in known_methods():
            raise ParameterError(f"methods must be among {', '.join(known_methods())}; got {entrant.method!r}.")
    # The command leaves them out by itself; who names them in Python should know.
    if missing := [entrant.method for entrant in entrants if not installed([entrant.method])]:
        raise MissingExtraError(peers.missing_crowdkit(missing))
    entrants += _with_truth(entrants, dict.fromkeys(known))
    entrants += [_variant(name, *variant) for name, variant in variants.items()]
    if not entrants:
        raise ParameterError("there must be a method or a variant to compare; got none.")
    return entrants


def _with_truth(entrants: Sequence[Entrant], known: Iterable[int]) -> list[Entrant]:
    """The default once more for each number of known items."""
    learner = [entrant for entrant in entrants if entrant.method == LEARNS_FROM_TRUTH]
    made = []
    for n_items in known:
        if n_items < 1:
            raise ParameterError(f"known items must be at least 1; got {n_items}.")
        if not learner:
            raise ParameterError(f"known items are given to {LEARNS_FROM_TRUTH}, which must be among the methods.")
        made.append(replace(learner[0], name=f"{LEARNS_FROM_TRUTH}, {n_items} known items", known=n_items))
    return made


def _variant(name: str, method: str, params: Mapping[str, Any]) -> Entrant:
    """The entrant, checked."""
    if name in known_methods():
        raise ParameterError(f"a variant must have a name of its own; got {name!r}, which is a method.")
    if method not in METHODS:
        raise ParameterError(f"variant {name!r} must be of one of {', '.join(METHODS)}; got {method!r}.")
    entrant = Entrant(name, method, tuple(params.items()))
    try:
        entrant.model().check_params()
    except ParameterError as error:
        raise ParameterError(f"variant {name!r}: {error}") from None
    except TypeError as error:  # such as text where a number is compared
        raise ParameterError(f"variant {name!r} has a parameter of the wrong type: {error}.") from None
    return entrant


def parse_variant(text: str) -> tuple[str, Variant]:
    """Read NAME=METHOD:param=value,param=value; values are JSON, or else text.

    >>> parse_variant("strict=dawid-skene:hit_prior=[8, 2],max_iter=50")
    ('strict', ('dawid-skene', {'hit_prior': [8, 2], 'max_iter': 50}))
    """
    name, _, chosen = text.partition("=")
    method, colon, listed = chosen.partition(":")
    # A comma separates parameters only where another one follows: lists have commas too.
    pairs = [part.partition("=") for part in re.split(r",(?=\s*\w+\s*=)", listed)] if colon else []
    params = {key.strip(): value.strip() for key, _, value in pairs}
    complete = all([name.strip(), method.strip(), *params, *params.values()])
    # Fewer parameters than pairs: one of them was given twice.
    if not complete or len(params) < len(pairs):
        raise ParameterError(f"a variant must look like NAME=METHOD:param=value,param=value; got {text!r}.")
    return name.strip(), (method.strip(), {key: _parse_value(key, value) for key, value in params.items()})


def _parse_value(name: str, text: str) -> Any:
    """JSON where it is, text where it is not.

    >>> _parse_value("a", "0.5"), _parse_value("a", "hard"), _parse_value("a", "null")
    (0.5, 'hard', None)
    """
    if text in ("True", "False", "None"):  # as text, all three would count as true
        raise ParameterError(f"{name} must be written as in JSON: true, false or null; got {text}.")
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text
