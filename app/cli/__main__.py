"""Makes `python -m app.cli` the same as the command `assay`."""

from app.cli import main

main()
