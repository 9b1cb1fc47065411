"""The command `amcc`, also as `python -m amcc`."""

import sys


def main() -> None:
    """Run a command; Ctrl-C is one line even while everything is still being imported."""
    try:
        from amcc.cli import main as run
    except KeyboardInterrupt:
        sys.stderr.write("interrupted before anything was done\n")
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
