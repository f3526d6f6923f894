"""Checks of scoring: a scoring process starts and answers, and memory suffices for all of them."""

import json
import tempfile
from pathlib import Path

from app.doctor.check_declaration import CheckResult, check, ok, problem, skipped, warning
from app.doctor.installation import Installation
from app.formats import FileKind
from app.formats.memory_needs import describe_largest_file, largest_file
from app.pipeline import SourceFile
from app.prepared.gold_source import GoldFile, GoldSource
from app.scoring_processes import ScoringProcessError
from app.scoring_processes.messages import CheckGold, GoldSummary
from app.worker.process_settings import create_process_pool
from app.worker.worker import GOLD_PROCESSES, READER_PROCESSES

PROBE_GOLD = [{"id": "a", "label": "yes"}, {"id": "b", "label": "no"}]
MAX_ANSWER_SECONDS = 20.0
CGROUP_MEMORY_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
MEMINFO = Path("/proc/meminfo")
GIB = 1 << 30


@check(
    "scoring.child",
    remedy="See its standard error; raise ASSAY_SCORING_MEMORY, and check that this account may start processes.",
)
def check_scoring_process(installation: Installation) -> CheckResult:
    """A scoring process starts and reads a small gold file."""
    seconds = min(MAX_ANSWER_SECONDS, installation.settings.scoring_seconds)
    pool = create_process_pool(installation.settings.model_copy(update={"scoring_seconds": seconds}), 1)
    try:
        with tempfile.TemporaryDirectory(prefix="assay-doctor-") as folder:
            path = Path(folder) / "gold.json"
            path.write_text(json.dumps(PROBE_GOLD), encoding="utf-8")
            reply = pool.call(CheckGold(GoldSource(file=GoldFile(SourceFile(path, FileKind("json")), "multiclass"))))
    except ScoringProcessError as error:
        return problem(str(error) or str(error.__doc__))
    finally:
        pool.close()
    if not isinstance(reply, GoldSummary) or reply.instances != len(PROBE_GOLD):
        return problem(f"Unexpected reply: {str(reply)[:200]}.")
    return ok("It started and answered.")


@check("scoring.memory", remedy="Lower ASSAY_WORKERS or ASSAY_SCORING_MEMORY, or add memory.")
def check_scoring_memory(installation: Installation) -> CheckResult:
    """All scoring processes fit into memory, even if each uses all that it may."""
    settings = installation.settings
    available = _memory_limit()
    if available is None:
        return skipped("Not available on this system.")
    count = settings.workers + READER_PROCESSES + GOLD_PROCESSES
    maximum = count * settings.scoring_memory
    observation = f"{count} processes may use {maximum / GIB:.1f} GiB of {available / GIB:.1f} GiB."
    return warning(observation) if maximum > available else ok(observation)


@check(
    "scoring.records",
    remedy="Raise ASSAY_SCORING_MEMORY, or lower ASSAY_MAX_RECORDS, so that no file is read in vain.",
)
def check_largest_file(installation: Installation) -> CheckResult:
    """The memory of a scoring process suffices for as many plain records as a file may have."""
    settings = installation.settings
    observation = describe_largest_file(settings.max_records, settings.scoring_memory)
    fits = largest_file(settings.scoring_memory).plain_records
    return warning(observation) if fits < settings.max_records else ok(observation)


def _memory_limit() -> int | None:
    """Bytes of memory of this machine, or of this container if that is less."""
    if not MEMINFO.exists():
        return None
    limits = [path.read_text().strip() for path in CGROUP_MEMORY_LIMITS if path.exists()]
    total = next(line for line in MEMINFO.read_text(encoding="ascii").splitlines() if line.startswith("MemTotal:"))
    return min([int(total.split()[1]) * 1024, *(int(limit) for limit in limits if limit.isdecimal())])
