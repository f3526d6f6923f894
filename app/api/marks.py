"""Why a row of a leaderboard or of a release has no rank."""

from typing import Literal

Mark = Literal["withdrawn", "disqualified", "barred", "unofficial"]
MARK_DESCRIPTION = (
    "Why a row has no rank: the submission was withdrawn, the submission or its team was disqualified, the team is "
    "barred, or the submission was sent after the close. A team has at most one row for each mark."
)
