"""Checks of the challenges: rules that give the gold labels away, open phases that have none, names that look alike."""

from app.actions.challenges.challenge_warnings import dubious_rules, inference, names_alike, phases_without_gold
from app.doctor.check_declaration import REACHABLE, SCHEMA, SETTINGS, Said, check, ok, warning
from app.doctor.installation import Patient

NEEDS = (SETTINGS, REACHABLE, SCHEMA)
MOST = 20  # phases that are listed


@check(
    "challenges.rules",
    needs=NEEDS,
    remedy="Their organizers can set a quota in total, hide the board until the phase closes and then show fewer digits, "
    "show fewer metrics, choose metrics that count, and leave curves out of the reports: assay challenge show SLUG.",
)
def rules(patient: Patient) -> Said:
    """No published challenge that is not over has rules by which its gold labels can be read."""
    with patient.session() as session:
        found = dubious_rules(session)
    return warning(" ".join(found)) if found else ok("None.")


@check(
    "challenges.inference",
    needs=NEEDS,
    remedy="assay challenge show SLUG says what lowers it.",
)
def labels(patient: Patient) -> Said:
    """How many gold labels of each phase one team can come to know at most by the scores that it is shown."""
    with patient.session() as session:
        found = inference(session)
    if not found:
        return ok("No phase to come has gold.")
    more = f", and {len(found) - MOST} more" if len(found) > MOST else ""
    return ok(f"Labels that one team can come to know at most: {', '.join(found[:MOST])}{more}.")


@check("challenges.gold", needs=NEEDS, remedy="Their organizers have to upload and activate it: assay gold upload.")
def gold(patient: Patient) -> Said:
    """Every open phase has active gold: without it, submissions are refused."""
    with patient.session() as session:
        found = phases_without_gold(session)
    return warning(f"Without gold: {', '.join(found)}.") if found else ok("All have.")


@check(
    "challenges.names",
    needs=NEEDS,
    remedy="New teams get no such name. Their organizers can bar a team that poses as another one.",
)
def names(patient: Patient) -> Said:
    """No two teams of a challenge have names that look the same."""
    with patient.session() as session:
        found = names_alike(session)
    return warning(" ".join(found)) if found else ok("None.")
