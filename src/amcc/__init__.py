"""Consensus label sets, worker quality and next questions from multi-label crowd answers.

    votes = amcc.read_votes("votes.csv")
    model = amcc.AMCC().fit(votes)
    model.sets(), model.workers(), amcc.next_questions(votes, budget=20).table()

What users do stands here; what they do it with is one level down: other models in `amcc.consensus`, strategies and
prices in `amcc.active`, engines for votes that do not fit in memory in `amcc.engine`, scores in `amcc.metrics`.

Names are imported when they are first used: `import amcc` costs nothing, and a command loads what it needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from amcc.active import Campaign, next_questions
    from amcc.consensus import AMCC, load_model, make_model
    from amcc.data import simulate_crowd
    from amcc.data.features import read_features, read_text_features
    from amcc.errors import AmccError, ConvergenceWarning, InputError, ParameterError
    from amcc.evaluation import evaluate
    from amcc.io import read_roster, read_truth, read_votes, write_votes
    from amcc.io.pack import pack_votes
    from amcc.report import write_report
    from amcc.roster import Roster
    from amcc.truth import Truth
    from amcc.votes import Votes

__version__ = "0.2.0"

__all__ = [
    "AMCC",
    "AmccError",
    "Campaign",
    "ConvergenceWarning",
    "InputError",
    "ParameterError",
    "Roster",
    "Truth",
    "Votes",
    "evaluate",
    "load_model",
    "make_model",
    "next_questions",
    "pack_votes",
    "read_features",
    "read_roster",
    "read_text_features",
    "read_truth",
    "read_votes",
    "simulate_crowd",
    "write_report",
    "write_votes",
]

# Where each of these names is imported from.
_NAMES_OF = {
    "active": ("Campaign", "next_questions"),
    "consensus": ("AMCC", "load_model", "make_model"),
    "data": ("simulate_crowd",),
    "data.features": ("read_features", "read_text_features"),
    "errors": ("AmccError", "ConvergenceWarning", "InputError", "ParameterError"),
    "evaluation": ("evaluate",),
    "io": ("read_roster", "read_truth", "read_votes", "write_votes"),
    "io.pack": ("pack_votes",),
    "report": ("write_report",),
    "roster": ("Roster",),
    "truth": ("Truth",),
    "votes": ("Votes",),
}
_HOME = {name: home for home, names in _NAMES_OF.items() for name in names}

# Modules that are there without an import of their own: `amcc.consensus.DawidSkene`.
_MODULES = (
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

# Where names of version 0.2 and before went, for whoever still looks for them here.
_MOVED = {
    "consensus": (
        "CDS", "EBCC", "IBCC", "MACE", "MCMLD", "MCMLI", "METHODS", "MLJMF", "NAM", "ConsensusModel", "DSTree",
        "DawidSkene", "MajorityVote", "RakelGlad",
    ),
    "engine": ("Checkpoint", "DaskEngine", "LocalEngine", "PackedVotes"),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"amcc.{_HOME[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"amcc.{name}")
    else:
        moved = [f": it is amcc.{home}.{name} now" for home, names in _MOVED.items() if name in names]
        raise AttributeError(f"module 'amcc' has no attribute {name!r}{''.join(moved)}")
    globals()[name] = value  # so that this function is not asked again
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
