"""GLAD on random subsets of labels; `estimator` is the model, the other files are its steps."""

from amcc.consensus.models.rakel_glad.estimator import RakelGlad

__all__ = ["RakelGlad"]
