"""What a strategy is, and the registry in which every strategy enters itself.

A new strategy is one file in `amcc/active/strategies` and nothing else:

    @register("cheapest")
    @dataclass(frozen=True)
    class Cheapest(UsualStrategy):
        def select(self, beliefs, candidates, prices, batch, rng): ...

Commands then know its name, and the contract tests (`tests/contract/test_strategies.py`) run against it.
"""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from functools import partial
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from amcc.active.beliefs import CurrentBeliefs
from amcc.active.candidates import Candidates
from amcc.active.questions import Questions
from amcc.arrays import Floats
from amcc.consensus import METHODS, ConsensusModel
from amcc.errors import ParameterError


class Strategy(Protocol):
    """Chooses the next questions. It keeps nothing in mind from one choice to the next."""

    @property
    def model(self) -> str:
        """Name of the consensus method that it was published with."""

    @property
    def uses_features(self) -> bool:
        """Whether it looks at features of the items, beside what its model makes of them."""

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """Up to `batch` questions, the best first; `prices` (n_workers,) is what one vote of each worker costs.

        What is drawn about workers is drawn first: with an equal `rng` it is the same for other candidates.
        """


class UsualStrategy:
    """What most strategies say of themselves: made for the default model, without a look at features."""

    model: ClassVar[str] = "amcc"
    uses_features: ClassVar[bool] = False


Made = TypeVar("Made", bound=Callable[..., Strategy])

# Strategies by the names that the command line knows; each is called, perhaps with settings, to make one.
STRATEGIES: dict[str, Callable[..., Strategy]] = {}


def register(name: str, **settings: Any) -> Callable[[Made], Made]:
    """A decorator: the strategy is known by this name, with these settings instead of its defaults."""
    # The second would silently take the place of the first, and results would be told under the wrong name.
    if name in STRATEGIES:
        raise ParameterError(f"a strategy must have a name of its own; {name!r} is taken.")

    # What is made is given back unchanged: the class can be imported, and registered under another name as well.
    def enter(make: Made) -> Made:
        STRATEGIES[name] = partial(make, **settings) if settings else make
        return make

    return enter


def make_strategy(strategy: str | Strategy) -> Strategy:
    """The strategy of that name with its default settings; one that is made already is given back."""
    if not isinstance(strategy, str):
        return strategy
    if strategy not in STRATEGIES:
        near = get_close_matches(strategy, STRATEGIES, 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ParameterError(f"strategy must be one of {', '.join(STRATEGIES)}; got {strategy!r}.{hint}")
    return STRATEGIES[strategy]()


def check_features_used(strategy: Strategy, model: ConsensusModel) -> None:
    """Raise ParameterError where neither the strategy nor its model would look at the features that were given.

    Whoever took the trouble to describe the items must not believe that it helped where nobody looked.
    """
    if strategy.uses_features or model.uses_features:
        return
    # By trying: what a strategy uses is a property of the object, and its model is known by name.
    made = {name: make() for name, make in STRATEGIES.items()}
    users = [name for name, each in made.items() if each.uses_features or METHODS[each.model]().uses_features]
    known = next((name for name, each in made.items() if each == strategy), type(strategy).__name__)
    raise ParameterError(
        f"the strategy {known} does not use features of items, nor does {type(model).__name__}. Leave them out, or use "
        f"a strategy that does: {', '.join(users)}."
    )
