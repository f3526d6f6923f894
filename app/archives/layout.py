"""The layout of an archive of a phase: format, version, and the names of its members (docs/archives.md)."""

FORMAT, FORMAT_VERSION = "assay-export", 2
INSTANCES_FORMAT, INSTANCES_VERSION = "assay-instances", 1

CHALLENGE, PHASE = "challenge.json", "phase.json"
RECIPES, GOLD, TEAMS, SWITCHES = "recipes.jsonl", "gold.jsonl", "teams.jsonl", "switches.jsonl"
SUBMISSIONS, SCORES, INTERVALS, RECEIPTS = "submissions.jsonl", "scores.jsonl", "intervals.jsonl", "receipts.jsonl"
FROZEN = "frozen_boards.jsonl"
MANIFEST = "manifest.json"
"""The last member: name, size and SHA-256 of every other one."""
TABLES = (CHALLENGE, PHASE, RECIPES, GOLD, TEAMS, SWITCHES, SUBMISSIONS, SCORES, INTERVALS, RECEIPTS, FROZEN)
"""The members that every archive has, besides the manifest."""


def gold_member(version: int, ending: str) -> str:
    """The name of the file of a gold version."""
    return f"gold/{version}{ending}"


def prediction_member(submission_id: str, ending: str) -> str:
    """The name of the file of a submission."""
    return f"predictions/{submission_id}{ending}"


def instances_member(submission_id: str) -> str:
    """The name of the predicted and actual classes of a submission."""
    return f"instances/{submission_id}.json"


def receipt_member(receipt_id: str) -> str:
    """The name of a receipt."""
    return f"receipts/{receipt_id}.dsse.json"


def proof_member(receipt_id: str) -> str:
    """The name of the proof that the transparency log holds a receipt."""
    return f"receipts/{receipt_id}.tlog-proof"


def frozen_member(number: int) -> str:
    """The name of the canonical content of a frozen board, whose SHA-256 is that by which the board is cited."""
    return f"frozen/{number}.json"
