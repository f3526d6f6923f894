"""Finds the folders that travel with the package: beside it in a checkout, inside it when installed from a wheel."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def package_data_folder(name: str) -> Path:
    """The folder of this name (for instance 'migrations'); raises FileNotFoundError when the installation lacks it."""
    for root in (_PACKAGE / "_shipped", _PACKAGE.parent):
        if (root / name).is_dir():
            return root / name
    msg = f"this installation lacks the folder '{name}'; install the package again"
    raise FileNotFoundError(msg)
