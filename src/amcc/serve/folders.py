"""A campaign's folder: `campaign.toml` (where things are), `secret.key` (what links are signed with), `campaign.db`."""

from __future__ import annotations

import json
import secrets
import tomllib
from dataclasses import dataclass
from pathlib import Path

from amcc.errors import FileFormatError, InputError, StoreError
from amcc.files import not_read
from amcc.serve.store.database import sqlite_url

FORMAT = 1

# Bytes of the secret: as many as SHA-256 gives, by which links are signed.
SECRET_BYTES = 32

CONFIG, SECRET, SQLITE, LOCK = "campaign.toml", "secret.key", "campaign.db", "serve.lock"


@dataclass(frozen=True)
class Folder:
    """What a campaign's folder says: the database's URL, the folder of images and audio, and the secret."""

    path: Path
    database: str
    media: Path | None
    secret: bytes

    @classmethod
    def read(cls, path: str | Path) -> Folder:
        """Read a folder; errors say what is missing."""
        path = Path(path)
        config = path / CONFIG
        if not config.is_file():
            raise InputError(
                f"{path} must be the folder of a campaign; it has no {CONFIG}. Make one with amcc campaign new."
            )
        try:
            found = tomllib.loads(config.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise FileFormatError(f"{config} must be TOML: {error}.") from None
        except OSError as error:
            raise not_read(config, error) from None
        if found.get("format") != FORMAT:
            raise StoreError(
                f"{config} must have format = {FORMAT}; it has {found.get('format')!r}. Install a newer amcc."
            )
        url = found.get("database") or sqlite_url((path / SQLITE).resolve())
        media = found.get("media")
        return cls(path, str(url), (path / media).resolve() if media else None, _secret(path / SECRET))

    @property
    def lock(self) -> Path:
        """The file that a server of an SQLite campaign holds."""
        return self.path / LOCK


def _secret(path: Path) -> bytes:
    try:
        secret = bytes.fromhex(path.read_text(encoding="ascii").strip())
    except OSError as error:
        raise not_read(path, error, "Links cannot be checked without it; take it from a backup.") from None
    except ValueError:
        secret = b""
    if len(secret) < SECRET_BYTES:
        raise FileFormatError(f"{path} must hold {2 * SECRET_BYTES} hexadecimal digits. Take it from a backup.")
    return secret


def write_folder(path: Path, *, database: str | None, media: Path | None, secret: bytes | None = None) -> None:
    """Write the two small files of a campaign's folder, which must be there."""
    lines = [f"format = {FORMAT}"]
    lines += [f"database = {json.dumps(database)}"] if database else []
    lines += [f"media = {json.dumps(str(media))}"] if media else []
    (path / CONFIG).write_text("\n".join(lines) + "\n", encoding="utf-8")
    (path / CONFIG).chmod(0o600)  # the URL may hold a password
    key = path / SECRET
    key.touch(mode=0o600)
    key.write_text((secret or secrets.token_bytes(SECRET_BYTES)).hex() + "\n", encoding="ascii")
