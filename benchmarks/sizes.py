"""The sizes of the benchmarks: full as in the targets, quick, and tiny for tests."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Sizes:
    """Sizes and numbers of repetitions."""

    repetitions: int
    records: int
    classes: int
    of_pycm: tuple[int, int]
    """Records and classes for PyCM, which takes long for more."""
    documents: int
    labels: int
    matrix: tuple[int, int]
    """Instances and classes of the scores."""
    resampled: tuple[int, int]
    """Instances and classes of resampled labels."""
    compared_teams: int
    growing: tuple[int, ...]
    """Numbers of records for W7, ascending."""
    board: int
    queue: int
    """Submissions that wait to be scored."""
    board_teams: tuple[int, ...]
    """Numbers of teams of boards that are built from the rows, ascending."""
    board_entries: int
    """Submissions of each team of the largest of them."""
    readers: int
    """Readers who follow a board at once."""
    stored: int
    """Submissions of the larger phase."""
    seconds: float
    """Seconds of load on an address per turn."""
    posts: int
    """Large bodies sent to an address per turn."""
    post_bytes: int
    waits: int
    waiting: int
    """Submissions in flight at once."""
    corrected: int
    """Submissions of a phase whose gold is corrected."""
    log_leaves: int
    """Records of the transparency log."""
    upload_mebibytes: int
    hostile: tuple[int, ...]
    """Numbers of instances of the gold for hostile files."""
    hostile_files: int | None
    """How many of the hostile files; None for all."""
    from_history: bool = True
    """Whether an earlier program is taken from the history; without that, the program is compared with itself."""


FULL = Sizes(
    repetitions=5,
    records=1_000_000,
    classes=1000,
    of_pycm=(100_000, 100),
    documents=100_000,
    labels=34_000,
    matrix=(100_000, 100),
    resampled=(100_000, 20),
    compared_teams=100,
    growing=(10_000, 100_000, 1_000_000, 10_000_000),
    board=200,
    queue=20_000,
    board_teams=(100, 1000, 10_000),
    board_entries=50,
    readers=500,
    stored=100_000,
    seconds=2.0,
    posts=16,
    post_bytes=10_000_000,
    waits=400,
    waiting=20,
    corrected=1000,
    log_leaves=1_000_000,
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
    resampled=(20_000, 10),
    compared_teams=30,
    growing=(10_000, 100_000, 1_000_000),
    board=200,
    queue=20_000,
    board_teams=(100, 1000),
    board_entries=50,
    readers=500,
    stored=100_000,
    seconds=0.7,
    posts=8,
    post_bytes=10_000_000,
    waits=100,
    waiting=20,
    corrected=100,
    log_leaves=100_000,
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
    resampled=(1_000, 2),
    compared_teams=4,
    growing=(500, 1000),
    board=3,
    queue=50,
    board_teams=(2, 3),
    board_entries=2,
    readers=20,
    stored=200,
    seconds=0.1,
    posts=2,
    post_bytes=50_000,
    waits=6,
    waiting=3,
    corrected=4,
    log_leaves=1000,
    upload_mebibytes=1,
    hostile=(3,),
    hostile_files=1,
    from_history=False,
)
SIZES = {"full": FULL, "quick": QUICK, "tiny": TINY}
