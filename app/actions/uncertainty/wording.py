"""What the comparison of a board's rows rests on, and what a reader may conclude from it, in sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.scoring.uncertainty.conclusion import RankSet, who_may_be_first

LEVEL = 0.05
METHOD = (
    "One paired bootstrap shared by all ranked rows; Romano-Wolf step-down over all ordered pairs at 5 %. Where the "
    "sample is small, an exact or randomization test of the pair has to agree, adjusted by Holm over all pairs."
)
NULL_HYPOTHESIS = (
    "Of two rows, the one is not better than the other on instances like these. A row may be called different only if "
    "this is rejected; the chance of any false call on a board is held at 5 %, approximately where the bootstrap decides."
)
NOT_CHOSEN = "This split chose none of the rows, so the claim of 5 % holds."
ONE_ENTRY = "Every team sent one entry, so nothing was chosen among several and the claim of 5 % holds."
CHOSEN = (
    "The values on this split chose the row of each team among {}. Rank sets and p-values treat rows as "
    "fixed beforehand, so more than 5 % of such boards show a false difference."
)
FEEDBACK = (
    "Teams saw their values on this split while they sent {}. Rank sets and p-values treat rows as fixed "
    "beforehand, so more than 5 % of such boards may show a false difference."
)


def describe_choice(
    selection: str, selection_max: int | None, split: str, most_entries: int, *, is_whole: bool = True
) -> dict[str, Any]:
    """Whether the shown split chose the rows, among how many entries of a team at most, and what that means.

    Only the private split chooses nothing: its values are seen after the release. Of several entries that a team
    selected, it takes the best. `is_whole`: `most_entries` is that of the whole board, so that a sentence may name it.
    """
    if most_entries <= 1:
        return {"chosen_by_split": False, "most_entries": most_entries, "meaning": ONE_ENTRY}
    if split == "private" and (selection != "selected" or selection_max == 1):
        return {"chosen_by_split": False, "most_entries": most_entries, "meaning": NOT_CHOSEN}
    chosen = selection != "latest"
    meaning = (CHOSEN if chosen else FEEDBACK).format(
        f"up to {most_entries} entries" if is_whole else "several entries"
    )
    return {"chosen_by_split": chosen, "most_entries": most_entries, "meaning": meaning}


def conclude(rows: Sequence[Mapping[str, Any]], reason: str | None) -> str | None:
    """What a reader may conclude from these rows as the API shows them; `reason` says why they have no rank sets."""
    if reason is not None:
        return reason[0].upper() + reason[1:] + ("" if reason.endswith(".") else ".")
    known = [row for row in rows if row.get("rank_low") is not None]
    sets = [RankSet(str(row["team"]["name"]), row["rank_low"], row["rank_high"]) for row in known]
    return who_may_be_first(sets, sum(row.get("rank") is not None for row in rows), noun="ranked row")
