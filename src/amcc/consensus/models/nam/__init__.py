"""NAM, a model that knows when each worker is right; `estimator` is the model, the other files are its parts."""

from amcc.consensus.models.nam.estimator import NAM

__all__ = ["NAM"]
