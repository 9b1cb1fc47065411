"""The paper's model: groups of workers, what they have in common, and what is each worker's own."""

from amcc.consensus.default.estimator import AMCC

__all__ = ["AMCC"]
