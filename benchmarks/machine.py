"""Describes the machine of the measurements: the processor with its features, and versions."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

LIBRARIES = ("numpy", "scikit-learn", "pycm", "orjson", "msgspec", "pyarrow", "fastapi", "uvicorn", "sqlalchemy")
# The features by which numpy's sorts and sums and the parsers choose their loops.
FEATURES = ("sse4_2", "avx", "avx2", "avx512f", "avx512bw", "avx512vl", "avx512_vbmi2", "asimd", "sve")


def machine() -> dict[str, str]:
    """The facts by name."""
    facts = _processor()
    return {
        "processors": str(os.cpu_count()),
        "machine": platform.machine(),
        "processor": facts.get("model name", platform.processor() or "unknown"),
        "features": " ".join(name for name in FEATURES if name in _flags(facts)) or "unknown",
        "memory": _memory(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
    }


def _processor() -> dict[str, str]:
    path = Path("/proc/cpuinfo")
    if not path.exists():
        return {}
    first = path.read_text().split("\n\n")[0]
    return {name.strip(): text.strip() for name, _, text in (line.partition(":") for line in first.splitlines())}


def _flags(facts: dict[str, str]) -> set[str]:
    return set((facts.get("flags") or facts.get("Features") or "").split())


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
