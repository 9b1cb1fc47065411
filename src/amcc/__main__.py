"""`python -m amcc` is the command `amcc`."""

from amcc.cli import main

if __name__ == "__main__":
    main()
