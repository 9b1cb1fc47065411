"""Zhang and Wu's mixtures of clusters; `estimator` holds the models, the other files are their parts."""

from amcc.consensus.models.mcmld.estimator import MCMLD, MCMLI

__all__ = ["MCMLD", "MCMLI"]
