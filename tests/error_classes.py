"""Every error class of the service."""

from app.errors import AssayError


def error_classes(root: type[AssayError] = AssayError) -> list[type[AssayError]]:
    """All error classes of the tree, parents before children."""
    found = [root]
    for child in root.__subclasses__():
        found.extend(error_classes(child))
    return found
