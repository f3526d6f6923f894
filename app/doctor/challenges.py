"""Checks of the challenges: rules that give the gold labels away, open phases that have none, names that look alike."""

from app.actions.challenges.challenge_warnings import (
    find_confusable_team_names,
    find_risky_rules,
    list_inference_bounds,
    phases_without_gold,
)
from app.doctor.check_declaration import REACHABLE_CHECK, SCHEMA_CHECK, SETTINGS_CHECK, CheckResult, check, ok, warning
from app.doctor.installation import Installation

REQUIRED_CHECKS = (SETTINGS_CHECK, REACHABLE_CHECK, SCHEMA_CHECK)
MAX_LISTED_PHASES = 20  # phases that are listed


@check(
    "challenges.rules",
    needs=REQUIRED_CHECKS,
    remedy="Their organizers can set a quota in total, hide the board until the phase closes and then show fewer digits, "
    "show fewer metrics, choose metrics that count, and leave curves out of the reports: assay challenge show SLUG.",
)
def check_risky_rules(installation: Installation) -> CheckResult:
    """No published challenge that is not over has rules by which its gold labels can be read."""
    with installation.session() as session:
        found = find_risky_rules(session)
    return warning(" ".join(found)) if found else ok("None.")


@check("challenges.inference", needs=REQUIRED_CHECKS, remedy="assay challenge show SLUG says what lowers it.")
def check_inference_bounds(installation: Installation) -> CheckResult:
    """How many gold labels of each phase one team can come to know at most by the scores that it is shown."""
    with installation.session() as session:
        found = list_inference_bounds(session)
    if not found:
        return ok("No phase to come has gold.")
    more = f", and {len(found) - MAX_LISTED_PHASES} more" if len(found) > MAX_LISTED_PHASES else ""
    return ok(f"Labels that one team can come to know at most: {', '.join(found[:MAX_LISTED_PHASES])}{more}.")


@check(
    "challenges.gold",
    needs=REQUIRED_CHECKS,
    remedy="Their organizers have to upload and activate it: assay gold upload.",
)
def check_open_phases_have_gold(installation: Installation) -> CheckResult:
    """Every open phase has active gold: without it, submissions are refused."""
    with installation.session() as session:
        found = phases_without_gold(session)
    return warning(f"Without gold: {', '.join(found)}.") if found else ok("All have.")


@check(
    "challenges.names",
    needs=REQUIRED_CHECKS,
    remedy="New teams get no such name. Their organizers can bar a team that poses as another one.",
)
def check_confusable_names(installation: Installation) -> CheckResult:
    """No two teams of a challenge have names that look the same."""
    with installation.session() as session:
        found = find_confusable_team_names(session)
    return warning(" ".join(found)) if found else ok("None.")
