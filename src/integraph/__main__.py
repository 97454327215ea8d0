"""`python -m integraph` is the command."""

from integraph.cli.start import main

if __name__ == "__main__":
    main()
