"""What tests need beside Python packages. It is skipped where absent, saying why; AMCC_REQUIRE makes that a failure."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def absent(what: str, why: str) -> NoReturn:
    """Skip the test, or fail it where AMCC_REQUIRE (browser,postgres,valgrind) names what is absent."""
    if what in os.environ.get("AMCC_REQUIRE", "").split(","):
        pytest.fail(f"AMCC_REQUIRE names {what}, but {why}", pytrace=False)
    pytest.skip(f"{why} (AMCC_REQUIRE={what} makes this a failure)")
