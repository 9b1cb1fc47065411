"""Consensus label sets, worker quality and next questions from multi-label crowd answers.

Names are imported when they are first used: `import amcc` costs nothing, and a command loads what it needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from amcc.consensus import (
        AMCC,
        CDS,
        EBCC,
        IBCC,
        MACE,
        MCMLD,
        MCMLI,
        METHODS,
        MLJMF,
        NAM,
        ConsensusModel,
        DawidSkene,
        DSTree,
        MajorityVote,
        RakelGlad,
        load_model,
        make_model,
    )
    from amcc.data.features import read_features, read_text_features
    from amcc.engine.checkpoint import Checkpoint
    from amcc.engine.dask import DaskEngine
    from amcc.engine.local import LocalEngine
    from amcc.engine.packed import PackedVotes
    from amcc.errors import AmccError, ConvergenceWarning, InputError, ParameterError
    from amcc.evaluation import evaluate
    from amcc.io import read_roster, read_truth, read_votes, write_votes
    from amcc.io.pack import pack_votes
    from amcc.roster import Roster
    from amcc.truth import Truth
    from amcc.votes import Votes

__version__ = "0.2.0"

__all__ = [
    "AMCC",
    "CDS",
    "EBCC",
    "IBCC",
    "MACE",
    "MCMLD",
    "MCMLI",
    "METHODS",
    "MLJMF",
    "NAM",
    "AmccError",
    "Checkpoint",
    "ConsensusModel",
    "ConvergenceWarning",
    "DSTree",
    "DaskEngine",
    "DawidSkene",
    "InputError",
    "LocalEngine",
    "MajorityVote",
    "PackedVotes",
    "ParameterError",
    "RakelGlad",
    "Roster",
    "Truth",
    "Votes",
    "evaluate",
    "load_model",
    "make_model",
    "pack_votes",
    "read_features",
    "read_roster",
    "read_text_features",
    "read_truth",
    "read_votes",
    "write_votes",
]

_HOMES = {
    "data.features": ("read_features", "read_text_features"),
    "engine.checkpoint": ("Checkpoint",),
    "engine.dask": ("DaskEngine",),
    "engine.local": ("LocalEngine",),
    "engine.packed": ("PackedVotes",),
    "errors": ("AmccError", "ConvergenceWarning", "InputError", "ParameterError"),
    "evaluation": ("evaluate",),
    "io": ("read_roster", "read_truth", "read_votes", "write_votes"),
    "io.pack": ("pack_votes",),
    "roster": ("Roster",),
    "truth": ("Truth",),
    "votes": ("Votes",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
"""Where names live; all others of `__all__` are models and live in `consensus`."""

_ROOMS = (
    "active",
    "audit",
    "consensus",
    "data",
    "engine",
    "errors",
    "evaluation",
    "io",
    "metrics",
    "report",
    "votes",
)
"""Modules that are there without an import of their own."""


def __getattr__(name: str) -> Any:
    if name in __all__:
        value = getattr(import_module(f"amcc.{_HOME.get(name, 'consensus')}"), name)
    elif name in _ROOMS:
        value = import_module(f"amcc.{name}")
    else:
        raise AttributeError(f"module 'amcc' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
