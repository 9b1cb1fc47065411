"""The requester's password: only its argon2 hash is stored."""

from __future__ import annotations

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from amcc.errors import InputError

# As NIST asks of passwords that people choose (SP 800-63B); longer than any would only make hashing slow.
SHORTEST, LONGEST = 8, 1000

# The library's own settings, those of RFC 9106 for little memory: 64 MB and some hundredths of a second for each try.
_HASHER = PasswordHasher()


def hashed(password: str) -> str:
    """The hash of a password; InputError where it is too short."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise InputError(f"a password must have {SHORTEST} to {LONGEST:,} characters; got {len(password)}.")
    return _HASHER.hash(password)


def is_right(password: str, stored: str) -> bool:
    """Whether it is the password of this hash."""
    try:
        return len(password) <= LONGEST and _HASHER.verify(stored, password)
    except (VerificationError, InvalidHashError):
        return False
