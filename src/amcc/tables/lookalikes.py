"""Names that people take for the same, though they are not.

People write "dog" and "dog " without seeing it. Such names are pointed out in notes and refused where a list and a
table disagree only in them; they are never changed, for "US" and "us" may be two things.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amcc.errors import IdError
from amcc.tables.arrow_types import any_true, first_true, is_text

# ASCII words with single spaces between them: nothing in it is invisible. Most names are such, and are quickly told.
PLAIN_NAME = r"^[!-~]+( [!-~]+)*$"

# Names among which look-alikes are searched, which takes about a second; more are hardly read by people.
MOST_COMPARED = 1_000_000


def looks(names: pa.Array, *, case: bool = False) -> pa.Array:
    """Names as people see them: without invisible characters and spaces at the ends, others as one space.

    Unless `case` matters, in small letters.

    >>> looks(pa.array(["Big  Dog ", "big dog"])).to_pylist()
    ['big dog', 'big dog']
    """
    names = names.cast(pa.string())
    names = names if case else pc.utf8_lower(names)
    odd = pc.invert(pc.match_substring_regex(names, PLAIN_NAME))
    if not any_true(odd):
        return names
    # NFC: é may be one character or e with an accent after it. Zl, Zp, Zs and \s are spaces; Cf and Cc are not seen.
    seen = pc.replace_substring_regex(pc.utf8_normalize(names.filter(odd), form="NFC"), r"[\s\p{Z}]+", " ")
    seen = pc.utf8_trim_whitespace(pc.replace_substring_regex(seen, r"[\p{Cf}\p{Cc}]", ""))
    return pc.replace_with_mask(names, odd, seen)


def note_on_lookalikes(names: pa.Array, role: str) -> list[str]:
    """A sentence about names that people would take for the same; none where there are none, or very many names."""
    if not is_text(names.type) or not 1 < len(names) <= MOST_COMPARED:
        return []
    code = looks(names).dictionary_encode().indices.to_numpy()
    alike = np.bincount(code)[code] > 1
    if not alike.any():
        return []
    example = names.filter(pa.array(code == code[alike.argmax()]))[:3].to_pylist()
    several = f"{role[:-1]}ies" if role.endswith("y") else f"{role}s"
    return [
        f"{alike.sum()} {several} have names that differ only in case, spaces or invisible characters, like "
        f"{' and '.join(map(repr, example))}; each counts as a {role} of its own"
    ]


def refuse_slips(given: pa.Array, known: pa.Array, role: str) -> None:
    """Raise IdError for a given name that is not known, but would be with other white space."""
    given, known = given.cast(pa.string()), known.cast(pa.string())
    strangers = given.filter(pc.invert(pc.is_in(given, value_set=known)))
    if not len(strangers):
        return
    # Case matters here: a list may well name "US" and the table "us", and mean two things.
    meant = pc.index_in(looks(strangers, case=True), value_set=looks(known, case=True))
    if meant.null_count < len(meant):
        slip = first_true(pc.is_valid(meant))
        one, other = strangers[slip].as_py(), known[meant[slip].as_py()].as_py()
        raise IdError(
            f"a {role} must be written in one way; {one!r} and {other!r} differ only in spaces or invisible "
            "characters. Write both alike, to the last space."
        )
