"""Whom to ask about what: the paper's strategy, its ablations, and those that it is compared with.

None of them looks at all (item, label, worker): they score the pairs, and then the workers of the most promising ones.
The attribute `model` of a strategy is the name of the consensus method that it was published with; `uses_features` says
whether it looks at features of the items.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from amcc.active.strategies.amcc import Amcc, RandomPairs, RandomWorkers
from amcc.active.strategies.baselines import ActiveLab, Ceal, KnowledgeGradient, NamActive, Sac, Uniform
from amcc.active.strategies.voi import ValueOfInformation
from amcc.active.strategy import Strategy
from amcc.consensus import METHODS, ConsensusModel
from amcc.errors import ParameterError

STRATEGIES: dict[str, Callable[..., Strategy]] = {
    "amcc": Amcc,
    "amcc-rw": RandomWorkers,
    "amcc-rsl": RandomPairs,
    "amcc-nlc": partial(Amcc, correlation_mix=0.0),
    "sac": Sac,
    "nam-a": NamActive,
    "mv-rsw": partial(Uniform, model="majority"),
    "uniform": Uniform,
    "activelab": ActiveLab,
    "okg": KnowledgeGradient,
    "ceal": Ceal,
    "voi": ValueOfInformation,
}
"""Strategies by the names that the command line knows."""


def check_features_used(strategy: Strategy, model: ConsensusModel) -> None:
    """Raise ParameterError where neither the strategy nor its model would look at the features that were given."""
    if strategy.uses_features or model.uses_features:
        return
    made = {name: make() for name, make in STRATEGIES.items()}
    users = [name for name, each in made.items() if each.uses_features or METHODS[each.model]().uses_features]
    known = next((name for name, each in made.items() if each == strategy), type(strategy).__name__)
    raise ParameterError(
        f"the strategy {known} does not use features of items, nor does {type(model).__name__}. Leave them out, or use "
        f"a strategy that does: {', '.join(users)}."
    )
