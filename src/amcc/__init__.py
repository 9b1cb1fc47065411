"""Consensus label sets, worker quality and next questions from multi-label crowd answers."""

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
from amcc.errors import AmccError, ConvergenceWarning, InputError, ParameterError
from amcc.io import read_truth, read_votes, write_votes
from amcc.truth import Truth
from amcc.votes import Votes

__version__ = "0.1.0"

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
    "ConsensusModel",
    "ConvergenceWarning",
    "DSTree",
    "DawidSkene",
    "InputError",
    "MajorityVote",
    "ParameterError",
    "RakelGlad",
    "Truth",
    "Votes",
    "load_model",
    "make_model",
    "read_truth",
    "read_votes",
    "write_votes",
]
