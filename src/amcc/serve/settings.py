"""What a requester sets for a campaign: prices, shares, texts, times; checked in one place.

Settings are stored as JSON in one row (`store.schema.campaign`), with a revision that grows with each change, so that
every server process sees a change before its next page.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields, replace
from decimal import Decimal
from typing import Any, Literal, get_args

from amcc.active.prices import MOST_DECIMALS, major_units
from amcc.errors import InputError, ParameterError

State = Literal["running", "paused", "ended"]
Platform = Literal["", "prolific", "other"]

# Half an hour: a page takes minutes at most, and people get a cup of tea. After it the money is free for others.
LEASE_SECONDS = 1800

# A share of 5 % each: enough to see a campaign that goes wrong (of 1,000 pages, 50 say how often), at little cost.
AUDIT_SHARE = CHECK_SHARE = 0.05

# What the platforms call the parameter that says who comes.
WORKER_PARAMS = {"prolific": "PROLIFIC_PID"}

# Of the pages, as speakers call them, in the order in which they are offered.
LANGUAGES = {"en": "English", "de": "Deutsch", "es": "Español", "zh": "中文"}

# Texts are shown on every page: as long as a few printed pages, not a book.
LONGEST_TEXT = 20_000


@dataclass(frozen=True)
class Settings:
    """What holds for all of a campaign; money in minor units.

    name : of the campaign's folder. title, instructions : shown to workers; instructions are plain text or Markdown.
    currency, decimals : how amounts are written. vote_price, page_price : of everybody who has no price of their own.
    most_labels : questions on a page, at most. lease_seconds : how long a page waits for its answers.
    audit_share : share of pages whose item is drawn at random. check_share : share of pages about known truth.
    worker_cap : share of the budget that one worker can earn, at most. open_leases_per_pair : who work on a pair at
    once, at most. pages_per_worker : answered pages of one worker, at most; 0: as many as there are.
    pay_skips : whether "cannot tell" is paid like an answer. max_workers : who may come by a platform.
    completion_code, completion_url : shown at the end. platform, worker_param : how workers of a platform are known.
    languages : of the pages, the first is the default.
    """

    name: str
    title: str = ""
    instructions: str = ""
    currency: str = ""
    decimals: int = 2
    vote_price: int = 1
    page_price: int = 0
    most_labels: int = 8
    lease_seconds: int = LEASE_SECONDS
    audit_share: float = AUDIT_SHARE
    check_share: float = CHECK_SHARE
    worker_cap: float = 1.0
    open_leases_per_pair: int = 1
    pages_per_worker: int = 0
    pay_skips: bool = True
    max_workers: int = 10_000
    completion_code: str = ""
    completion_url: str = ""
    platform: Platform = ""
    worker_param: str = ""
    languages: tuple[str, ...] = tuple(LANGUAGES)
    state: State = "running"
    media: str = field(default="")

    def __post_init__(self) -> None:
        _check(self)

    def changed(self, **changes: Any) -> Settings:
        """These with some changed; ParameterError for one that does not exist or cannot change."""
        for name in changes:
            if name not in CHANGEABLE:
                raise ParameterError(f"a setting must be one of {', '.join(sorted(CHANGEABLE))}; got {name!r}.")
        return replace(self, **changes)

    def as_json(self) -> dict[str, Any]:
        """As it is stored."""
        return {**asdict(self), "languages": list(self.languages)}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Settings:
        """As it was stored; what an older version did not have yet gets its default."""
        known = {each.name for each in fields(cls)}
        kept = {name: value for name, value in stored.items() if name in known}
        known_languages = tuple(each for each in kept.get("languages", ()) if each in LANGUAGES)
        return cls(**{**kept, "languages": known_languages or ("en",)})

    def share_of(self, budget: int) -> int:
        """What one worker can earn of a budget, at most, in minor units."""
        return int(Decimal(str(self.worker_cap)) * budget)  # as it was written: 0.29 of 100 is 29, and not 28

    def refuse_small_cap(self, budget: int) -> None:
        """Raise InputError where that is less than an answer costs."""
        share, least = self.share_of(budget), self.vote_price + self.page_price
        if share < least:
            raise InputError(
                f"worker_cap must let a worker earn at least one answer, {major_units(least, self.decimals)}; "
                f"{self.worker_cap:g} of the budget is {major_units(share, self.decimals)}, and nobody could work."
            )


# What stands in the ledger, or was promised to people who have worked, does not change.
CHANGEABLE = {each.name for each in fields(Settings)} - {"name", "currency", "decimals", "media"}


def _check(given: Settings) -> None:
    """Raise where a setting cannot be."""
    whole = {"decimals": (0, MOST_DECIMALS), "vote_price": (0, None), "page_price": (0, None), "most_labels": (1, None),
             "lease_seconds": (10, 7 * 86400), "open_leases_per_pair": (1, 100), "max_workers": (1, 10**7),
             "pages_per_worker": (0, 10**6)}  # fmt: skip
    for name, (least, most) in whole.items():
        value = getattr(given, name)
        if type(value) is not int or value < least or (most is not None and value > most):
            bounds = f"from {least} to {most:,}" if most is not None else f"of at least {least}"
            raise ParameterError(f"{name} must be a whole number {bounds}; got {value!r}.")
    for name in ("audit_share", "check_share", "worker_cap"):
        value = getattr(given, name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise ParameterError(f"{name} must be a share from 0 to 1; got {value!r}.")
    if given.audit_share + given.check_share > 1:
        raise ParameterError("audit_share and check_share together must be at most 1.")
    if given.worker_cap == 0:
        raise ParameterError("worker_cap must be above 0, or nobody could work; got 0.")
    if given.vote_price + given.page_price == 0:
        raise InputError("an answer must cost at least one minor unit; got 0 for both vote_price and page_price.")
    _check_texts(given)


def _check_texts(given: Settings) -> None:
    for name in ("name", "title", "instructions", "currency", "completion_code", "completion_url", "worker_param"):
        value = getattr(given, name)
        if not isinstance(value, str) or len(value) > LONGEST_TEXT:
            raise ParameterError(f"{name} must be text of at most {LONGEST_TEXT:,} characters; got {value!r:.80}.")
    if given.completion_url and not given.completion_url.startswith(("https://", "http://")):
        raise ParameterError(f"completion_url must begin with https:// or http://; got {given.completion_url!r:.80}.")
    if given.state not in get_args(State):
        raise ParameterError(f"state must be {', '.join(get_args(State))}; got {given.state!r}.")
    if given.platform not in get_args(Platform):
        raise ParameterError(f"platform must be prolific, other or empty; got {given.platform!r}.")
    if not given.languages or any(each not in LANGUAGES for each in given.languages):
        raise ParameterError(f"a language must be one of {', '.join(LANGUAGES)}; got {', '.join(given.languages)!r}.")
