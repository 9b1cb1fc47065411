"""Consensus label sets, worker quality and next questions from multi-label crowd answers.

    votes = amcc.read_votes("votes.csv")
    model = amcc.AMCC().fit(votes)
    model.sets(), model.workers(), amcc.next_questions(votes, budget=20).table()

What users do stands here; what they do it with is one level down: other models in `amcc.consensus`, strategies and
prices in `amcc.active`, engines for votes that do not fit in memory in `amcc.engine`, scores in `amcc.metrics`.

Names are imported when they are first used: `import amcc` costs nothing, and a command loads what it needs.
"""

from typing import TYPE_CHECKING

from amcc.lazy import lazy_names, offer

if TYPE_CHECKING:
    from amcc.active import Campaign, next_questions
    from amcc.consensus import AMCC, load_model, make_model
    from amcc.data import simulate_crowd
    from amcc.data.features import read_features, read_text_features
    from amcc.errors import AmccError, ConvergenceWarning, InputError, ParameterError
    from amcc.evaluation import evaluate
    from amcc.exports import write_consensus
    from amcc.io import read_export, read_roster, read_truth, read_votes, write_votes
    from amcc.io.pack import pack_votes
    from amcc.report import write_report
    from amcc.roster import Roster
    from amcc.truth import Truth
    from amcc.votes import Votes
    from amcc.watching import progress

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
    "progress",
    "read_export",
    "read_features",
    "read_roster",
    "read_text_features",
    "read_truth",
    "read_votes",
    "simulate_crowd",
    "write_consensus",
    "write_report",
    "write_votes",
]

# `Votes.from_langfuse` and its like: votes know no files, so the reader comes from above.
offer("read_votes", "amcc.io:read_votes")

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "active": ("Campaign", "next_questions"),
        "consensus": ("AMCC", "load_model", "make_model"),
        "data": ("simulate_crowd",),
        "data.features": ("read_features", "read_text_features"),
        "errors": ("AmccError", "ConvergenceWarning", "InputError", "ParameterError"),
        "evaluation": ("evaluate",),
        "exports": ("write_consensus",),
        "io": ("read_export", "read_roster", "read_truth", "read_votes", "write_votes"),
        "io.pack": ("pack_votes",),
        "report": ("write_report",),
        "roster": ("Roster",),
        "truth": ("Truth",),
        "votes": ("Votes",),
        "watching": ("progress",),
    },
    # `amcc.consensus.DawidSkene` works without an import of `amcc.consensus`.
    ("active", "audit", "consensus", "data", "engine", "errors", "evaluation", "io", "metrics", "report", "votes"),
    {
        **{name: f"amcc.consensus.{name}" for name in (
            "CDS", "EBCC", "IBCC", "MACE", "MCMLD", "MCMLI", "METHODS", "MLJMF", "NAM", "ConsensusModel", "DSTree",
            "DawidSkene", "MajorityVote", "RakelGlad",
        )},
        **{name: f"amcc.engine.{name}" for name in ("Checkpoint", "DaskEngine", "LocalEngine", "PackedVotes")},
    },
)  # fmt: skip
