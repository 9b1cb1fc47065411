"""Consensus models, and the names by which the command line knows them.

`METHODS`, `make_model` and `load_model` know every model of the folder `models`; the names below are those that can be
imported from here. Further models need no line in this file: they are in `amcc.consensus.models`.

Names are imported when they are first used: a fit has no use for the models that it is not compared with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amcc.lazy import lazy_names

if TYPE_CHECKING:
    from amcc.consensus.base import ConsensusModel
    from amcc.consensus.default import AMCC
    from amcc.consensus.grouped import GroupedModel
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
    from amcc.consensus.models.paper import PaperAMCC
    from amcc.consensus.models.rakel_glad import RakelGlad
    from amcc.consensus.registry import METHODS, load_model, make_model

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
    "GroupedModel",
    "MajorityVote",
    "PaperAMCC",
    "RakelGlad",
    "load_model",
    "make_model",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "base": ("ConsensusModel",),
        "grouped": ("GroupedModel",),
        "default": ("AMCC",),
        "models.c_ds": ("CDS",),
        "models.dawid_skene": ("DawidSkene",),
        "models.ds_tree": ("DSTree",),
        "models.ebcc": ("EBCC",),
        "models.ibcc": ("IBCC",),
        "models.mace": ("MACE",),
        "models.majority": ("MajorityVote",),
        "models.mcmld": ("MCMLD", "MCMLI"),
        "models.ml_jmf": ("MLJMF",),
        "models.nam": ("NAM",),
        "models.paper": ("PaperAMCC",),
        "models.rakel_glad": ("RakelGlad",),
        "registry": ("METHODS", "load_model", "make_model"),
    },
)
