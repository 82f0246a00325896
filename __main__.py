"""``python -m benchtui``: the command line."""

from benchtui.tui.cli import main

if __name__ == "__main__":
    main()
