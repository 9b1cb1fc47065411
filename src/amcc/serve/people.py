"""Workers: pseudonyms, links, platforms, prices; block, unblock, forget.

Everything but `identities` knows a worker by a random pseudonym. A link is signed with the campaign's secret and holds
the worker's number, the version of their links and when it ends: so nothing is stored about it, and one number ends all
of a worker's links.
"""

from __future__ import annotations

import base64
import re
import secrets
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any

from itsdangerous import BadSignature, URLSafeSerializer
from sqlalchemy import Connection, delete, select

from amcc.active.payouts import PROLIFIC_ID
from amcc.active.prices import minor_units
from amcc.errors import InputError, LinkError, NotFoundError, RefusedError
from amcc.serve.leasing import Row, end_lease, open_lease, prices_of, worker_row
from amcc.serve.money import Till
from amcc.serve.settings import WORKER_PARAMS, Settings
from amcc.serve.store.schema import identities, workers
from amcc.serve.views import Link, WorkerInfo

# Bytes of a pseudonym, 8 letters: two of 10,000 workers are the same in one of 20,000 campaigns. The second of them is
# then refused once.
PSEUDONYM_BYTES = 5

# An id of a platform: printable, not longer than any platform has. Strangers choose it, and it stands in the list of
# payments: a spreadsheet would take one that begins with these signs for a formula.
EXTERNAL = re.compile(r"(?![=+@-])[^\x00-\x20\x7f-\x9f<>\"'{}%]{1,128}")

INVITED = "invited"

# How everything of a campaign is signed; the library's own choice would be SHA-1.
SIGNED = {"digest_method": sha256, "key_derivation": "hmac"}

# Of a name on the list of those invited: a person's, or the name and version of a model.
LONGEST_GIVEN = 200


def pseudonym() -> str:
    """A new name that says nothing."""
    return "w" + base64.b32encode(secrets.token_bytes(PSEUDONYM_BYTES)).decode().lower()


def info(row: Row, settings: Settings) -> WorkerInfo:
    """A worker's row as others see it."""
    price, page = prices_of(row, settings)
    return WorkerInfo(row["id"], row["name"], row["kind"], row["state"], price, page)


def by_id(connection: Connection, worker_id: int, settings: Settings) -> WorkerInfo:
    """A worker by number."""
    row = worker_row(connection, worker_id)
    if row is None:
        raise NotFoundError("there is no such worker.")
    return info(row, settings)


def row_by_name(connection: Connection, name: str) -> Row:
    """A worker's row by pseudonym, or by who they are on the list of those invited."""
    found = connection.execute(select(workers).where(workers.c.name == name)).mappings().first()
    if found is None:
        query = select(workers).join(identities, identities.c.worker_id == workers.c.id)
        rows = connection.execute(query.where(identities.c.external == name)).mappings().all()
        found = rows[0] if len(rows) == 1 else None
    if found is None:
        raise NotFoundError(f"there is no worker {name!r} in this campaign; amcc campaign status lists them.")
    return dict(found)


# -- new workers -----------------------------------------------------------------------------------------------------


def add_worker(
    till: Till, *, platform: str, external: str, now: float, kind: str = "human", family: str = "",
    vote_price: int | None = None, page_price: int | None = None,
) -> int:  # fmt: skip
    """A new worker under a pseudonym; gives their number."""
    number = till.n_workers
    row = {"id": number, "name": pseudonym(), "kind": kind, "family": family, "vote_price": vote_price,
           "page_price": page_price, "made_at": now}  # fmt: skip
    till.connection.execute(workers.insert(), row)
    till.connection.execute(identities.insert(), {"worker_id": number, "platform": platform, "external": external})
    till.n_workers += 1
    return number


def find_identity(connection: Connection, platform: str, external: str) -> int | None:
    """The number of the worker who is this on a platform."""
    query = select(identities.c.worker_id).where(identities.c.platform == platform, identities.c.external == external)
    return connection.execute(query).scalar()


def external_of(params: Mapping[str, str], settings: Settings) -> tuple[str, str]:
    """Platform, and who comes from it, by the parameters of an address; LinkError where they do not say so."""
    name = settings.worker_param or WORKER_PARAMS.get(settings.platform, "")
    if not name:
        raise LinkError("this campaign needs an invitation: open the link that was sent to you.", "forged")
    given = params.get(name, "")
    wrong = not EXTERNAL.fullmatch(given) or (settings.platform == "prolific" and not PROLIFIC_ID.fullmatch(given))
    if wrong:
        raise LinkError(f"the address must say who you are ({name}=…). Open the study from its platform.", "forged")
    return settings.platform or "other", given


def by_platform(connection: Connection, params: Mapping[str, str], settings: Settings, now: float) -> int:
    """The number of who comes from the platform, who may be new."""
    platform, external = external_of(params, settings)
    till = Till.open(connection)
    found = find_identity(connection, platform, external)
    if found is not None:
        return found
    if till.n_workers >= settings.max_workers:
        raise RefusedError("this campaign has as many participants as it takes.", "full")
    number = add_worker(till, platform=platform, external=external, now=now)
    till.close()
    return number


# -- links -----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=8)  # each page reads a link by it; several campaigns are open at once in tests only
def _signer(secret: bytes) -> URLSafeSerializer:
    return URLSafeSerializer(secret, salt="amcc worker link 1", signer_kwargs=SIGNED)


def token_for(secret: bytes, worker_id: int, version: int, expires_at: float) -> str:
    """A signed token."""
    return str(_signer(secret).dumps([worker_id, version, int(expires_at)]))


def by_token(connection: Connection, secret: bytes, token: str, now: float) -> Row:
    """The worker who has this link; LinkError where it cannot be used."""
    forged = LinkError("this link is not one of this campaign; open it exactly as it was sent.", "forged")
    try:
        content: Any = _signer(secret).loads(token)
        worker_id, version, expires_at = (int(each) for each in content)
    except (BadSignature, TypeError, ValueError):
        raise forged from None
    row = worker_row(connection, worker_id)
    if row is None:
        raise forged
    if row["link_version"] != version or row["state"] == "forgotten":
        raise LinkError("this link was withdrawn; ask for a new one.", "revoked")
    if expires_at <= now:
        raise LinkError("this link has expired; ask for a new one.", "expired")
    return row


def new_link(till: Till, secret: bytes, worker_id: int, given: str, expires_at: float) -> Link:
    """A new link of a worker; older ones end."""
    row = worker_row(till.connection, worker_id)
    assert row is not None  # whoever calls has just found or made them
    version = row["link_version"] + 1
    till.connection.execute(workers.update().where(workers.c.id == worker_id).values(link_version=version))
    return Link(row["name"], given, token_for(secret, worker_id, version, expires_at), expires_at)


def invite(
    connection: Connection, people: list[dict[str, Any]], secret: bytes, now: float, expires_at: float, actor: str
) -> list[Link]:
    """A link for each of these (worker, kind, family, vote_price, page_price); who is known keeps their pseudonym."""
    till, links = Till.open(connection), []
    for each in people:
        given = each["worker"]
        number = find_identity(connection, INVITED, given)
        rest = {name: each[name] for name in ("kind", "family", "vote_price", "page_price")}
        if number is None:
            number = add_worker(till, platform=INVITED, external=given, now=now, **rest)
        else:
            set_prices(connection, number, each["vote_price"], each["page_price"])
        links.append(new_link(till, secret, number, given, expires_at))
    till.log(now, actor, "invite", n=len(links))
    till.revision += 1  # servers read the prices again
    till.close()
    return links


def checked_names(names: Iterable[str]) -> list[str]:
    """Names of people to invite, each once."""
    found = [str(name).strip() for name in names]
    for name in found:
        if not name or len(name) > LONGEST_GIVEN or not name.isprintable():
            raise InputError(f"a name must be one line of 1 to {LONGEST_GIVEN} characters; got {name!r:.60}.")
        if found.count(name) > 1:
            raise InputError(f"every name must be there once; {name!r} is there more often.")
    return found


def invited_before(connection: Connection) -> list[dict[str, Any]]:
    """All who were invited, as `invite` takes them."""
    query = select(identities.c.external, workers).join(workers, workers.c.id == identities.c.worker_id)
    rows = connection.execute(query.where(identities.c.platform == INVITED).order_by(workers.c.id)).mappings()
    same = ("kind", "family", "vote_price", "page_price")
    return [{"worker": row["external"], **{name: row[name] for name in same}} for row in rows]


def set_prices(connection: Connection, worker_id: int, vote_price: int | None, page_price: int | None) -> None:
    """Prices of one worker, for new pages; None leaves one as it is."""
    new = {"vote_price": vote_price, "page_price": page_price}
    new = {name: price for name, price in new.items() if price is not None}
    if new:
        connection.execute(workers.update().where(workers.c.id == worker_id).values(**new))


def checked_price(amount: Any, decimals: int, what: str) -> int | None:
    """A price in minor units; None where none is given."""
    return None if amount is None or str(amount).strip() == "" else minor_units(amount, decimals, what)


def refuse_free(vote_price: int, page_price: int, whose: str) -> None:
    """Raise InputError where an answer would cost nothing."""
    if vote_price + page_price == 0:
        raise InputError(f"an answer must cost at least one minor unit; {whose} has a price of 0 for votes and pages.")


# -- block and forget ------------------------------------------------------------------------------------------------


def _end_open(till: Till, worker_id: int, now: float) -> None:
    lease = open_lease(till.connection, worker_id)
    if lease is not None:
        end_lease(till, lease["id"], "withdrawn", now)


def block(connection: Connection, name: str, reason: str, actor: str, now: float) -> int:
    """No more pages; the open one is withdrawn. Answers stay."""
    if not reason.strip():
        raise InputError("a reason must be given for blocking somebody; it is kept in the log.")
    till = Till.open(connection)
    row = row_by_name(connection, name)
    if row["state"] == "forgotten":
        raise RefusedError("this worker was forgotten, and gets no pages anyway.", "forgotten")
    _end_open(till, row["id"], now)
    _set_state(connection, row["id"], "blocked", reason)
    till.log(now, actor, "block", worker=row["name"], reason=reason)
    till.close()
    return int(row["id"])


def unblock(connection: Connection, name: str, reason: str, actor: str, now: float) -> int:
    """Pages again."""
    till = Till.open(connection)
    row = row_by_name(connection, name)
    if row["state"] == "forgotten":
        raise RefusedError("this worker was forgotten; nobody knows any more who they are.", "forgotten")
    _set_state(connection, row["id"], "active", "")
    till.log(now, actor, "unblock", worker=row["name"], reason=reason)
    till.close()
    return int(row["id"])


def _set_state(connection: Connection, worker_id: int, state: str, reason: str) -> None:
    connection.execute(workers.update().where(workers.c.id == worker_id).values(state=state, reason=reason))


def forget(connection: Connection, name: str, actor: str, now: float) -> int:
    """Delete who somebody is; what is due to them stays in the ledger, but nobody can pay it any more."""
    till = Till.open(connection)
    row = row_by_name(connection, name)
    _end_open(till, row["id"], now)
    connection.execute(delete(identities).where(identities.c.worker_id == row["id"]))
    new = {"state": "forgotten", "reason": "", "link_version": row["link_version"] + 1}
    connection.execute(workers.update().where(workers.c.id == row["id"]).values(**new))
    till.log(now, actor, "forget", worker=row["name"])
    till.close()
    return int(row["id"])


def revoke(connection: Connection, name: str, actor: str, now: float) -> None:
    """All links of a worker end."""
    till = Till.open(connection)
    row = row_by_name(connection, name)
    version = row["link_version"] + 1
    connection.execute(workers.update().where(workers.c.id == row["id"]).values(link_version=version))
    till.log(now, actor, "revoke", worker=row["name"])
    till.close()
