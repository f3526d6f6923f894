"""Who can read the file of a private key."""

import stat
from pathlib import Path

SECRETS = Path("/run/secrets")
"""Where a container engine mounts secrets, for this container only: their mode does not matter."""


def mode_for_others(path: Path) -> str | None:
    """The mode of a file that others than the service's account can read; None if they cannot."""
    mode = stat.S_IMODE(path.stat().st_mode)
    return f"{mode:03o}" if mode & (stat.S_IRWXG | stat.S_IRWXO) and not path.is_relative_to(SECRETS) else None
