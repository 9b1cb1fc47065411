"""Every exception this package raises on purpose.

AmccError
├── InputError            the data are wrong (also a ValueError)
│   ├── FileFormatError   the file cannot be read as what it claims to be
│   ├── ColumnError       a column is missing, unknown or ambiguous
│   ├── IdError           a worker, item or label has no usable name
│   ├── VoteValueError    a vote is neither yes nor no
│   ├── ConflictError     one worker, or the truth, says both yes and no to the same question
│   └── EmptyInputError   nothing is left to work with
├── ParameterError        an argument is outside its range (also a ValueError)
├── OutOfMoneyError       nothing can be asked for what is left of a budget
├── CampaignError         a live campaign refuses what was asked of it; nothing was changed
│   ├── LinkError         a worker's link is expired, revoked or forged
│   ├── NotFoundError     there is no such lease, worker, item or label (for whoever asks)
│   ├── RefusedError      it came too late, or contradicts what was done before
│   └── StoreError        the campaign's database cannot be used: locked, full, damaged, or of a newer version
├── EngineError           the processes that did the work were lost
├── NotFittedError        a result was asked for before `fit` (also an AttributeError)
├── MissingExtraError     an optional package is not installed (also an ImportError)
└── TooLargeError         a table would not fit in memory (also a MemoryError)

Each message says what must hold, what came, where, and the way out. `ConvergenceWarning` is a warning.
"""

from __future__ import annotations


class AmccError(Exception):
    """Base of all errors that amcc raises on purpose."""


class InputError(AmccError, ValueError):
    """The data are wrong."""


class FileFormatError(InputError):
    """The file cannot be read as what it claims to be."""


class ColumnError(InputError):
    """A column is missing, unknown or ambiguous."""


class IdError(InputError):
    """A worker, item or label has no usable name."""


class VoteValueError(InputError):
    """A vote is neither yes nor no."""


class ConflictError(InputError):
    """One worker, or the truth, says both yes and no to the same question."""


class EmptyInputError(InputError):
    """Nothing is left to work with."""


class ParameterError(AmccError, ValueError):
    """An argument is outside its range."""


class OutOfMoneyError(AmccError):
    """Nothing can be asked for what is left of a budget."""


class CampaignError(AmccError):
    """A live campaign refuses what was asked of it; nothing was changed."""


class LinkError(CampaignError):
    """A worker's link cannot be used; `reason` is expired, revoked or forged."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class NotFoundError(CampaignError):
    """There is no such lease, worker, item or label; of a thing of others, whoever asks learns no more than that."""


class RefusedError(CampaignError):
    """It came too late, or contradicts what was done before; `reason` is one word for programs."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason


class StoreError(CampaignError):
    """The campaign's database cannot be used: it is locked, full, damaged, or of a newer version."""


class EngineError(AmccError):
    """The processes that did the work were lost."""


class NotFittedError(AmccError, AttributeError):
    """A result was asked for before `fit`."""


class MissingExtraError(AmccError, ImportError):
    """An optional package is not installed."""


class TooLargeError(AmccError, MemoryError):
    """A table would not fit in memory."""


class ConvergenceWarning(UserWarning):
    """A model stopped before its estimates settled."""
