"""What a strategy is."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from amcc.active.beliefs import CurrentBeliefs
from amcc.active.candidates import Candidates
from amcc.active.questions import Questions
from amcc.arrays import Floats


class Strategy(Protocol):
    """Chooses the next questions."""

    @property
    def model(self) -> str:
        """Name of the consensus method that it was published with."""

    @property
    def uses_features(self) -> bool:
        """Whether it looks at features of the items, beside what its model makes of them."""

    def select(
        self, beliefs: CurrentBeliefs, candidates: Candidates, prices: Floats, batch: int, rng: np.random.Generator
    ) -> Questions:
        """Up to `batch` questions, the best first; `prices` (n_workers,) is what one vote of each worker costs.

        What is drawn about workers is drawn first: with an equal `rng` it is the same for other candidates.
        """
