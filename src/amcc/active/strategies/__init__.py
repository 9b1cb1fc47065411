"""Whom to ask about what: our own strategy, the paper's with its ablations, and those that they are compared with.

None of them looks at all (item, label, worker): they score the pairs, and then the workers of the most promising ones.
The attribute `model` of a strategy is the name of the consensus method that it was published with; `uses_features` says
whether it looks at features of the items.

Every file in this folder is imported here, and its strategies enter themselves in `STRATEGIES`, see
`amcc.active.strategy`.
"""

from importlib import import_module
from pkgutil import iter_modules

from amcc.active.strategy import STRATEGIES, Strategy, check_features_used, make_strategy

__all__ = ["STRATEGIES", "Strategy", "check_features_used", "make_strategy"]

# By name, whatever the file system says: this is the order in which help texts list the strategies.
for _module in sorted(module.name for module in iter_modules(__path__)):
    import_module(f"{__name__}.{_module}")
