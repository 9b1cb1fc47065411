"""Consensus models, and the names by which the command line knows them.

`METHODS`, `make_model` and `load_model` know every model of the folder `models`; the names below are those that can be
imported from here. Further models need no line in this file: they are in `amcc.consensus.models`.
"""

from __future__ import annotations

from amcc.consensus.base import ConsensusModel
from amcc.consensus.grouped import GroupedModel
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
from amcc.consensus.models.paper import PaperAMCC
from amcc.consensus.models.rakel_glad import RakelGlad
from amcc.consensus.registry import METHODS, find_models, load_model, make_model

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

find_models()
