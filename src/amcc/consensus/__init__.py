"""Consensus models, and the names by which the command line knows them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from amcc.consensus.amcc.estimator import AMCC
from amcc.consensus.base import ConsensusModel, read_model_file
from amcc.consensus.c_ds import CDS
from amcc.consensus.dawid_skene import DawidSkene
from amcc.consensus.ds_tree import DSTree
from amcc.consensus.ebcc import EBCC
from amcc.consensus.ibcc import IBCC
from amcc.consensus.mace import MACE
from amcc.consensus.majority import MajorityVote
from amcc.consensus.mcmld import MCMLD, MCMLI
from amcc.consensus.ml_jmf import MLJMF
from amcc.consensus.nam import NAM
from amcc.consensus.rakel_glad import RakelGlad
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


def paper_amcc(**params: Any) -> ConsensusModel:
    """The paper's own objective eq5, with the repairs of docs/deviations.md."""
    from amcc.paper import PaperAMCC  # late: it is built on this package

    return PaperAMCC(**params)


METHODS: dict[str, Callable[..., ConsensusModel]] = {
    "amcc": AMCC,
    "amcc-frobenius": paper_amcc,
    "amcc-printed": partial(paper_amcc, anchor="self", printed=True),
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
    from amcc.paper import PaperAMCC  # late, as above

    meta, arrays = read_model_file(path)
    models: tuple[type[ConsensusModel], ...] = (*MODELS, PaperAMCC)
    for model in models:
        if model.__name__ == meta["model"]:
            return model.from_file(Path(path), meta, arrays)
    raise FileFormatError(f"{path} holds a {meta['model']!r}, which this version of amcc does not know.")
