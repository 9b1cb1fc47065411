"""A campaign's real server, in a thread of the tests: on a free port of the loopback, until the block ends."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

# Seconds until it listens, on a machine that is busy with something else.
PATIENCE = 30


@contextlib.contextmanager
def serving(app: Any) -> Iterator[str]:
    """The address of the running application, without a slash at its end."""
    import uvicorn

    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", ws="none", lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        end = time.monotonic() + PATIENCE
        while not server.started:
            assert thread.is_alive(), "the server ended before it listened"
            assert time.monotonic() < end, "the server does not listen"
            time.sleep(0.01)
        (socket,) = server.servers[0].sockets
        yield f"http://127.0.0.1:{socket.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        assert not thread.is_alive(), "the server does not end"
