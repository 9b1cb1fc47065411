"""What a model knows about its workers: their rates, the evidence against some of them, and what families share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa

from amcc.arrays import Codes, Floats, Signs
from amcc.consensus.families import Families, Sharing, describe_families, no_families, samples_per_pair, shared_errors
from amcc.consensus.learned import Gold
from amcc.consensus.matching import new_code
from amcc.consensus.measured_rates import with_measured
from amcc.consensus.panel import MOST_JUDGES, panel_rates
from amcc.consensus.parameters import Parameters
from amcc.consensus.rounds import count_votes
from amcc.consensus.workers import WorkerRates, spam_evidence, worker_rates
from amcc.engine.base import NOTHING_KNOWN, Engine, as_engine
from amcc.errors import NotFittedError, ParameterError
from amcc.fields import Each
from amcc.passes import Judgement
from amcc.roster import HUMAN, Roster, Seats
from amcc.tables import Frame, as_frame
from amcc.votes import Votes

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class AboutWorkers(Parameters):
    """The part of a model that is about workers. `AboutItems` adds what it says about items, `ConsensusModel` the fit.

    Workers are judged when somebody first asks about them. A fit that nobody asks about workers does not pay for it.
    """

    uses_roster: ClassVar[bool] = False
    """Whether `fit` lets votes of workers who share errors count for less; a model that does not refuses a roster.

    Only such a model can weigh several samples of one worker; for others, their majority is one vote."""

    # What saved models are checked by when they are loaded, here and in every model: `amcc.fields`.
    worker_names_: Annotated[pa.Array, Each("worker")]
    label_names_: Annotated[pa.Array, Each("label")]
    label_prior_: Annotated[Floats, Each("label", share=True)]
    roster_: Annotated[Seats | None, Each(optional=True)] = None
    vote_worth_: Annotated[Floats | None, Each("worker", least=0, optional=True)] = None

    _roster: Roster | None = None
    _samples: Floats = np.ones(1)
    _families: Families | Callable[[], Families] | None = None
    _sharing: Sharing | None = None
    _to_judge: tuple[Votes | Engine, Callable[[], Judgement]] | None = None
    _judged: tuple[WorkerRates, dict[int, str]] | None = None
    _judges_by_features: bool = False  # whether features of the items changed what is said about workers
    _truth_told: Signs = NOTHING_KNOWN  # +1, −1, 0 for the pairs of the votes; empty where nothing is known

    def check_fitted(self) -> None:
        """Raise NotFittedError before the first fit."""
        if not hasattr(self, "label_prior_"):
            raise NotFittedError(f"this {type(self).__name__} has not learned anything yet; call fit(votes) first.")

    # -- who shares errors -------------------------------------------------------------------------------------------

    def check_uses_roster(self) -> None:
        """Raise ParameterError where a roster would be ignored."""
        if not self.uses_roster:
            raise ParameterError(
                f"{self!r} does not use kinds and families of workers. Leave the workers file out, or use AMCC() "
                "(-m amcc)."
            )

    @property
    def has_roster(self) -> bool:
        """Whether `fit` was told who the workers are."""
        return self.roster_ is not None

    @property
    def sharing(self) -> Sharing | None:
        """Who shares errors with whom, as the last `fit` with a roster learned it; saved models do not keep it."""
        return self._sharing

    def _take_roster(self, votes: Votes, gold: Gold, roster: Roster | None) -> None:
        """Learn from the roster what votes are worth; repeated votes of one worker count as one in any case."""
        self._forget_roster()
        self._samples = samples_per_pair(votes)
        if roster is not None:
            self._roster = roster
            self.roster_ = roster.seats(votes.worker_names)
        if roster is not None and self._weighs_families:
            assert self.roster_ is not None  # for the type checker
            sharing = shared_errors(votes, self.roster_, gold.present, gold.known)
            self.vote_worth_, self._sharing = sharing.weight, sharing
            self._families = partial(describe_families, votes, self.roster_, sharing)
        elif roster is not None or self._samples.max(initial=1.0) > 1:
            self.vote_worth_, self._families = 1 / self._samples, None if roster is None else no_families()

    @property
    def _weighs_families(self) -> bool:
        """Whether votes of workers who share errors count for less."""
        return True

    def _forget_roster(self) -> None:
        """What an earlier fit was told must not count in this one."""
        self.roster_ = self.vote_worth_ = self._families = self._sharing = self._roster = None

    def seats_for(self, votes: Votes) -> Seats | None:
        """Kinds and families of the workers of these votes; newcomers are people without a family. None: no roster."""
        if self.roster_ is None:
            return None
        code = new_code(votes.worker_names, self.worker_names_)
        kind = np.where(code >= 0, self.roster_.kind[code], HUMAN).astype(np.int8)
        family = np.where(code >= 0, self.roster_.family[code], -1).astype(np.int32)
        reference = np.where(code >= 0, self.roster_.reference[code], False)
        return Seats(kind, family, reference, self.roster_.family_names)

    def weights_for(self, votes: Votes) -> Floats | None:
        """(n_workers,) how much a vote of each worker of any votes counts; newcomers count fully. None: all do."""
        if self.vote_worth_ is None:
            return None
        code = new_code(votes.worker_names, self.worker_names_)
        return np.where(code >= 0, self.vote_worth_[code], 1.0)

    def families(self, frame: Frame = "pandas") -> Any:
        """One row per family of two or more, and one for all models, if `fit` was given a roster.

        family, kind, members, votes, votes_per_pair; correlation of the errors of two members; effective_votes, how
        many independent votes theirs on a pair are worth; null_low and null_high, the range that independent workers
        of the same skill would show.
        """
        return as_frame(self.families_.table(), frame)

    @property
    def families_(self) -> Families:
        """What families share; computed when it is first asked for."""
        self.check_fitted()
        if self._families is None:
            raise NotFittedError("families are known where fit was given a roster: fit(votes, roster=roster).")
        if not isinstance(self._families, Families):
            self._families = self._families()
        return self._families

    # -- who is good -------------------------------------------------------------------------------------------------

    def workers(self, frame: Frame = "pandas") -> Any:
        """One row per worker.

        worker, answers; hit_rate and false_alarm_rate, compared within labels; informativeness = hit_rate −
        false_alarm_rate, 0 for a spammer and 1 for an oracle; all three with the bounds of their 95 % intervals (_low,
        _high); by_truth, whether they were measured on known truth and not by what the others say; known, False where
        the interval of the informativeness is so wide that there is too little to tell; group and weight,
        empty for models without groups; with a roster kind, family, and vote_worth, how much of a vote counts beside
        those of others who share errors; evidence, for likely spammers what in their answers shows it.
        """
        table = self.worker_rates_.table(self.worker_names_)
        groups, weights = self._groups()
        table = table.append_column("group", pa.array(groups, pa.int32(), mask=groups < 0))
        table = table.append_column("weight", pa.array(weights, mask=np.isnan(weights)))
        if self.roster_ is not None:
            table = table.append_column("kind", self.roster_.kinds()).append_column("family", self.roster_.families())
            table = table.append_column("vote_worth", pa.array(self.vote_worth_))
        evidence = [self.worker_evidence_.get(worker, "") for worker in range(len(table))]
        table = table.append_column("evidence", pa.array(evidence, pa.string()))
        return as_frame(table, frame)

    def plot_workers(self, ax: Axes | None = None) -> Axes:
        """Draw every worker by hit rate and false-alarm rate.

        Larger dots gave more answers, crosses are likely spammers. Good workers are at the top left. On the dashed line
        a yes is as frequent where the label is absent as where it is present. Like all pictures it needs
        `pip install 'amcc[plot]'`.

        ax : where to draw; a new figure, unless it is given. Gives back the axes.
        """
        from amcc.consensus import plots

        return plots.plot_workers(self, ax)

    @property
    def skills_(self) -> pd.Series[Any]:
        """Informativeness by worker."""
        import pandas as pd

        index = pd.Index(self.worker_names_.to_pylist(), name="worker")
        return pd.Series(self.worker_rates_.informativeness, index=index, name="skill")

    def rates_of_coins(self) -> tuple[Floats, Floats]:
        """(n_workers, n_labels) expected hit and false-alarm rates of every worker, for choosing whom to ask.

        Here those of the worker on all labels; models that tell labels apart say more.
        """
        rates, n_labels = self.worker_rates_, len(self.label_names_)
        hit, false_alarm = (np.repeat(each[:, None], n_labels, 1) for each in (rates.hit_rate, rates.false_alarm_rate))
        return hit, false_alarm

    def yes_rates(self) -> Floats:
        """(n_workers, n_labels) D_w(l, l) of eq12: hit rates, unless the model has the paper's matrices."""
        return self.rates_of_coins()[0]

    @property
    def worker_rates_(self) -> WorkerRates:
        """What is known about each worker; computed when it is first asked for."""
        return self._judgement()[0]

    @property
    def worker_evidence_(self) -> dict[int, str]:
        """Evidence against the likely spammers, by worker code; computed together with the rates."""
        return self._judgement()[1]

    def _judgement(self) -> tuple[WorkerRates, dict[int, str]]:
        self.check_fitted()
        if self._to_judge is not None:
            votes, judge = self._to_judge
            judgement, counted = judge(), as_engine(votes).total(count_votes)
            # What a panel is judged by are its votes alone.
            if len(counted.answers) <= MOST_JUDGES and not self._judges_by_features:
                rates = panel_rates(votes, self._truth_told, counted.answers)
            else:
                rates = worker_rates(votes, judgement, counted)
            if isinstance(votes, Votes) and len(self._truth_told):
                rates = with_measured(rates, votes, self._truth_told)
            self._judged = rates, spam_evidence(votes, judgement, rates, counted)
            self._to_judge = None  # lets go of the votes
        assert self._judged is not None  # a fit sets one of the two
        return self._judged

    def take_judgement(self, rates: WorkerRates, evidence: dict[int, str], families: Families | None) -> None:
        """Say of the workers what a saved model said."""
        self._to_judge, self._judged, self._families = None, (rates, evidence), families

    def _groups(self) -> tuple[Codes, Floats]:
        """Group (−1: none) and weight (NaN: none) of each worker."""
        n_workers = len(self.worker_names_)
        return np.full(n_workers, -1, np.int32), np.full(n_workers, np.nan)
