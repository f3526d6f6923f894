"""Checks of scoring: can a child be started, does it answer, and does the memory suffice for all of them."""

import json
import tempfile
from pathlib import Path

from app.doctor.check_declaration import CheckResult, check, ok, problem, skipped, warning
from app.doctor.installation import Installation
from app.formats import FileKind
from app.pipeline import SourceFile
from app.prepared.gold_source import GoldFile, GoldSource
from app.scoring_processes import ScoringProcessError
from app.scoring_processes.messages import CheckGold, GoldSummary
from app.worker.worker import GOLD_PROCESSES, READER_PROCESSES, create_process_pool

PROBE_GOLD = [{"id": "a", "label": "yes"}, {"id": "b", "label": "no"}]
ANSWER_SECONDS = 20.0
CGROUP_MEMORY_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
MEMINFO = Path("/proc/meminfo")
GIB = 1 << 30


@check(
    "scoring.child",
    remedy="See what it said on standard error; raise ASSAY_SCORING_MEMORY, and see whether processes may be started.",
)
def check_scoring_process(patient: Installation) -> CheckResult:
    """A scoring program starts, and reads a small gold file."""
    seconds = min(ANSWER_SECONDS, patient.settings.scoring_seconds)
    pool = create_process_pool(patient.settings.model_copy(update={"scoring_seconds": seconds}), 1)
    try:
        with tempfile.TemporaryDirectory(prefix="assay-doctor-") as folder:
            path = Path(folder) / "gold.json"
            path.write_text(json.dumps(PROBE_GOLD), encoding="utf-8")
            reply = pool.ask(CheckGold(GoldSource(file=GoldFile(SourceFile(path, FileKind("json")), "multiclass"))))
    except ScoringProcessError as fault:
        return problem(str(fault) or str(fault.__doc__))
    finally:
        pool.close()
    if not isinstance(reply, GoldSummary) or reply.instances != len(PROBE_GOLD):
        return problem(f"It answered {str(reply)[:200]}.")
    return ok("It started and answered.")


@check("scoring.memory", remedy="Lower ASSAY_WORKERS or ASSAY_SCORING_MEMORY, or give the machine more memory.")
def check_scoring_memory(patient: Installation) -> CheckResult:
    """All scoring programs together fit into the memory, even when each takes what it may."""
    settings = patient.settings
    there = _memory_limit()
    if there is None:
        return skipped("This system does not tell.")
    count = settings.workers + READER_PROCESSES + GOLD_PROCESSES
    wanted = count * settings.scoring_memory
    seen = f"{count} programs may take {wanted / GIB:.1f} GiB of {there / GIB:.1f} GiB."
    return warning(seen) if wanted > there else ok(seen)


def _memory_limit() -> int | None:
    """Bytes of memory of this machine, or of this container if that is less."""
    if not MEMINFO.exists():
        return None
    limits = [
        int(path.read_text()) for path in CGROUP_MEMORY_LIMITS if path.exists() and path.read_text().strip().isdecimal()
    ]
    total = next(line for line in MEMINFO.read_text(encoding="ascii").splitlines() if line.startswith("MemTotal:"))
    return min([int(total.split()[1]) * 1024, *limits])
