"""The command `amcc`, also as `python -m amcc`.

This file imports nothing but what is built into Python at first: what it does must work, and be quick, before anything
else is loaded.
"""

import gc
import sys


def main() -> None:
    """Run a command; Ctrl-C is one line even while everything is still being imported.

    From there on, `amcc.cli.main` turns every error into one line.
    """
    if sys.argv[1:] == ["--version"]:
        # Scripts ask this first and often: it is answered before the command line, with typer and rich, is imported.
        from amcc import __version__

        sys.stdout.write(f"amcc {__version__}\n")
        return
    # What is imported stays: looking through it for garbage takes a tenth of the time of a small consensus.
    gc.disable()  # until `amcc.cli.lazy` has loaded the command
    try:
        from amcc.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("interrupted before anything was done\n")
        sys.exit(130)
    try:
        run()
    finally:
        gc.enable()  # help and wrong names load no command


if __name__ == "__main__":
    main()
