"""Another user of the machine, who tries to make a Dask cluster run code.

Usage: python intruder.py FOLDER PORT... . What is in FOLDER afterwards, named by port and way, was made by the process
behind that port: FOLDER is closed to everybody but its owner.
"""

from __future__ import annotations

import asyncio
import os
import sys

from distributed import Security
from distributed.comm import connect
from distributed.protocol.pickle import dumps
from tornado.ioloop import IOLoop

SECONDS = 3
"""For all attempts; who lets strangers in does so at once."""

NOBODY = 65534


async def try_to_run_code(folder: str, port: str, how: str, security: Security) -> None:
    """Ask what listens there to make a folder, as clients ask schedulers, and schedulers ask workers and nannies."""
    arguments = security.get_connection_args("client")
    comm = await connect(f"{how.split('-')[0]}://127.0.0.1:{port}", **arguments)
    code = {"function": dumps(os.mkdir), "args": dumps((f"{folder}/{port}-{how}",)), "reply": True, "wait": True}
    for order in ("run", "run_function"):
        await comm.write({"op": order, **code})
        await comm.read()


async def main(folder: str, *ports: str) -> None:
    """Every port in every way, at once; who is refused may wait for ever."""
    ways = {"tcp": Security(require_encryption=False), "tls-foreign": Security.temporary(), "tls-none": Security()}
    tries = [
        asyncio.ensure_future(try_to_run_code(folder, port, how, security))
        for port in ports
        for how, security in ways.items()
    ]
    IOLoop.current()  # imports what connections need
    if os.getuid() == 0:  # everything is imported: nobody may not be allowed to read it
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    await asyncio.wait(tries, timeout=SECONDS)
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
