"""Consensus models, and the names by which the command line knows them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from amcc.consensus.base import ConsensusModel, read_model_file
from amcc.consensus.models.amcc.estimator import AMCC
from amcc.consensus.models.c_ds import CDS
from amcc.consensus.models.dawid_skene import DawidSkene
from amcc.consensus.models.ds_tree import DSTree
from amcc.consensus.models.ebcc import EBCC
from amcc.consensus.models.ibcc import IBCC
from amcc.consensus.models.mace import MACE
from amcc.consensus.models.majority import MajorityVote
from amcc.consensus.models.mcmld import MCMLD, MCMLI
from amcc.consensus.models.ml_jmf import MLJMF
from amcc.consensus.models.nam import NAM
from amcc.consensus.models.rakel_glad import RakelGlad
from amcc.errors import FileFormatError, ParameterError

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
    "ConsensusModel",
    "DSTree",
    "DawidSkene",
    "MajorityVote",
    "RakelGlad",
    "load_model",
    "make_model",
]

METHODS: dict[str, Callable[..., ConsensusModel]] = {
    "amcc": AMCC,
    "amcc-frobenius": partial(AMCC, loss="frobenius"),
    "amcc-printed": partial(AMCC, loss="frobenius", anchor="self", printed=True),
    "c-ds": CDS,
    "dawid-skene": DawidSkene,
    "ds-tree": DSTree,
    "ebcc": EBCC,
    "ibcc": IBCC,
    "mace": MACE,
    "majority": MajorityVote,
    "mcmld": MCMLD,
    "mcmli": MCMLI,
    "ml-jmf": MLJMF,
    "nam": NAM,
    "rakel-glad": RakelGlad,
}

MODELS: tuple[type[ConsensusModel], ...] = (
    AMCC,
    CDS,
    DawidSkene,
    DSTree,
    EBCC,
    IBCC,
    MACE,
    MajorityVote,
    MCMLD,
    MCMLI,
    MLJMF,
    RakelGlad,
    NAM,
)


def make_model(method: str) -> ConsensusModel:
    """The model of that name with its default settings."""
    if method not in METHODS:
        raise ParameterError(f"method must be one of {', '.join(METHODS)}; got {method!r}.")
    return METHODS[method]()


def load_model(path: str | Path) -> ConsensusModel:
    """Read any model that was saved."""
    meta, arrays = read_model_file(path)
    for model in MODELS:
        if model.__name__ == meta["model"]:
            return model.from_file(Path(path), meta, arrays)
    raise FileFormatError(f"{path} holds a {meta['model']!r}, which this version of amcc does not know.")
