"""How large the work of the benchmarks is: as the targets state it, quickly, or tiny as a test wants it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """Counts of what is made and repeated."""

    repetitions: int
    records: int
    classes: int
    of_pycm: tuple[int, int]
    """Records and classes that PyCM gets: it takes long on more."""
    documents: int
    labels: int
    matrix: tuple[int, int]
    """Instances and classes of the scores."""
    growing: tuple[int, ...]
    """Records of the work whose size grows, ascending."""
    board: int
    seconds: float
    """For which an address is read at a time."""
    posts: int
    """Large bodies sent to an address at a time."""
    post_bytes: int
    waits: int
    waiting: int
    """Submissions in flight at once."""
    upload_mebibytes: int
    hostile: tuple[int, ...]
    """Instances of the gold that hostile files are sent for."""
    hostile_files: int | None
    """How many of the hostile files; None for all."""


FULL = Sizes(
    repetitions=5,
    records=1_000_000,
    classes=1000,
    of_pycm=(100_000, 100),
    documents=100_000,
    labels=34_000,
    matrix=(100_000, 100),
    growing=(10_000, 100_000, 1_000_000, 10_000_000),
    board=200,
    seconds=2.0,
    posts=16,
    post_bytes=10_000_000,
    waits=400,
    waiting=20,
    upload_mebibytes=64,
    hostile=(3, 100_000),
    hostile_files=None,
)
QUICK = Sizes(
    repetitions=3,
    records=200_000,
    classes=1000,
    of_pycm=(50_000, 100),
    documents=20_000,
    labels=10_000,
    matrix=(20_000, 50),
    growing=(10_000, 100_000, 1_000_000),
    board=200,
    seconds=0.7,
    posts=8,
    post_bytes=10_000_000,
    waits=100,
    waiting=20,
    upload_mebibytes=64,
    hostile=(3, 10_000),
    hostile_files=None,
)
TINY = Sizes(
    repetitions=1,
    records=2000,
    classes=20,
    of_pycm=(500, 10),
    documents=200,
    labels=50,
    matrix=(300, 4),
    growing=(500, 1000),
    board=3,
    seconds=0.1,
    posts=2,
    post_bytes=50_000,
    waits=6,
    waiting=3,
    upload_mebibytes=1,
    hostile=(3,),
    hostile_files=1,
)
SIZES = {"full": FULL, "quick": QUICK, "tiny": TINY}
