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
from amcc.data.features import read_features
from amcc.engine.checkpoint import Checkpoint
from amcc.engine.dask import DaskEngine
from amcc.engine.local import LocalEngine
from amcc.engine.packed import PackedVotes
from amcc.errors import AmccError, ConvergenceWarning, InputError, ParameterError
from amcc.io import read_truth, read_votes, write_votes
from amcc.io.pack import pack_votes
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
    "Truth",
    "Votes",
    "load_model",
    "make_model",
    "pack_votes",
    "read_features",
    "read_truth",
    "read_votes",
    "write_votes",
]
