"""Finds the folders shipped with the package: next to it in a checkout, inside it when installed from a wheel."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def package_data_folder(name: str) -> Path:
    """The folder with this name, such as 'migrations'; raises FileNotFoundError if the installation lacks it."""
    for root in (_PACKAGE / "_shipped", _PACKAGE.parent):
        if (root / name).is_dir():
            return root / name
    msg = f"this installation lacks the folder '{name}'; install the package again"
    raise FileNotFoundError(msg)
