"""Simulated workers at a real server: each with a link of their own, a pace, and a way of being wrong.

They see the truth that is given, more or less well; where none is given for a question, they agree on one that is made
up from its words, so that a campaign without any truth settles, too. Bounded by pages and by time.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from amcc.errors import ColumnError
from amcc.io import read_table
from amcc.serve.client import CampaignClient, LeasedPage, Nothing, Refused
from amcc.truth import Statement

Answers = Mapping[tuple[str, str], bool]
"""The truth by item and label."""

# How often a present label is seen, and an absent one taken for present: from careful people to tired ones.
SEEN, IMAGINED = (0.75, 0.97), (0.02, 0.15)

# One worker in five answers without looking, as in open crowds.
SPAMMERS = 5

# How often somebody cannot tell.
SKIPS = 0.02

# Of the questions whose truth is made up, so many are "yes": most labels are absent from most items.
MADE_UP_YES = 0.3

# Seconds until somebody who found no work looks again: others have pages open that they may not finish.
LOOK_AGAIN = 0.5


@dataclass
class Done:
    """What a simulated crowd has done; money in minor units."""

    pages: int = 0
    answers: int = 0
    skips: int = 0
    refused: int = 0
    earned: int = 0
    seconds: float = 0.0
    why: str = "the time is over"

    def as_json(self) -> dict[str, Any]:
        """For scripts."""
        return asdict(self)


@dataclass
class Crowd:
    """Workers who come together.

    address : of the server. tokens : one worker each. known : truth by item and label. pause : seconds per page.
    """

    address: str
    tokens: Sequence[str]
    known: Answers
    seed: int = 0
    pause: float = 0.2
    _done: Done = field(default_factory=Done)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stop: threading.Event = field(default_factory=threading.Event)
    _reasons: set[str] = field(default_factory=set)
    _taken: int = 0

    def run(self, pages: int, seconds: float, tell: Callable[[Done], None] = lambda done: None) -> Done:
        """Work until so many pages are answered, the time is over, or there is no work for anybody."""
        begun = time.monotonic()
        self._until, self._most = begun + seconds, pages
        with ThreadPoolExecutor(len(self.tokens)) as threads:
            running = [threads.submit(self._work, number, token) for number, token in enumerate(self.tokens)]
            try:
                while not all(each.done() for each in running):
                    tell(self._done)
                    self._stop.wait(0.2)
                    if any(each.done() and each.exception() for each in running):
                        break  # one cannot go on, so none can
            finally:
                self._stop.set()
        for each in running:
            each.result()
        if self._done.pages >= pages:
            self._done.why = "enough pages are answered"
        elif time.monotonic() < self._until:
            self._done.why = f"there is no work left ({', '.join(sorted(self._reasons))})"
        self._done.seconds = time.monotonic() - begun
        return self._done

    def stop(self) -> None:
        """Let everybody go home after the page they have."""
        self._stop.set()

    def _work(self, number: int, token: str) -> None:
        """One worker's visit."""
        rng = np.random.default_rng([self.seed, number])
        person = Person.drawn(rng, is_spammer=number % SPAMMERS == SPAMMERS - 1)
        idle = 0
        with CampaignClient(self.address, token) as client:
            while not self._is_over() and self._takes_page():
                page = client.lease()
                if isinstance(page, Nothing):
                    with self._lock:
                        self._taken -= 1
                    # Others may give pages back: only who finds nothing again and again goes home.
                    idle += 1
                    if page.reason != "nothing" or idle > 3:
                        with self._lock:
                            self._reasons.add(page.reason)
                        return
                    self._stop.wait(LOOK_AGAIN)
                    continue
                idle = 0
                self._stop.wait(self.pause * rng.uniform(0.5, 1.5))
                self._answer(client, page, person, rng)

    def _answer(self, client: CampaignClient, page: LeasedPage, person: Person, rng: np.random.Generator) -> None:
        answers = {each.label_id: person.answer(self._truth(page.item, each.label), rng) for each in page.questions}
        came = client.answer(page, answers)
        with self._lock:
            if isinstance(came, Refused):
                self._done.refused += 1
                return
            self._done.pages += 1
            self._done.earned += came.earned
            self._done.skips += sum(value == "skip" for value in answers.values())
            self._done.answers += sum(value != "skip" for value in answers.values())

    def _truth(self, item: str, label: str) -> bool:
        """What is given, or made up: the same for everybody."""
        found = self.known.get((item, label))
        return made_up(item, label) if found is None else found

    def _is_over(self) -> bool:
        return self._stop.is_set() or time.monotonic() >= self._until

    def _takes_page(self) -> bool:
        """Whether there is one more among those that all together may answer; it is counted."""
        with self._lock:
            is_left = self._taken < self._most
            self._taken += is_left
            return is_left


@dataclass(frozen=True)
class Person:
    """How somebody answers: chances of saying yes where a label is present, and where it is absent."""

    yes_if_present: float
    yes_if_absent: float

    @classmethod
    def drawn(cls, rng: np.random.Generator, *, is_spammer: bool) -> Person:
        """Somebody; spammers say yes as often either way."""
        if is_spammer:
            share = float(rng.uniform(0.2, 0.8))
            return cls(share, share)
        return cls(float(rng.uniform(*SEEN)), float(rng.uniform(*IMAGINED)))

    def answer(self, present: bool, rng: np.random.Generator) -> str:
        """Yes, no or skip."""
        if rng.random() < SKIPS:
            return "skip"
        return "yes" if rng.random() < (self.yes_if_present if present else self.yes_if_absent) else "no"


def made_up(item: str, label: str) -> bool:
    """A truth that everybody agrees on without having been told.

    >>> made_up("clip1", "dog") == made_up("clip1", "dog")
    True
    """
    digest = hashlib.sha256(f"{item}\0{label}".encode()).digest()
    return int.from_bytes(digest[:4], "big") < MADE_UP_YES * 2**32


def read_answers(path: Path) -> dict[tuple[str, str], bool]:
    """The truth in a table item,label,truth, by item and label."""
    said = Statement.from_frame(read_table(path))
    if said.only_yes:
        raise ColumnError(
            f"{path}: what simulated workers see must say yes and no; there is no column for that. Add a column truth."
        )
    item, label = said.pairs.item.to_pylist(), said.pairs.label.to_pylist()
    return {
        pair: sign > 0 for pair, sign in zip(zip(item, label, strict=True), said.sign.tolist(), strict=True) if sign
    }
