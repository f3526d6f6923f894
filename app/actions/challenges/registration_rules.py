"""What a registration must hold: accepted terms, answers to the organizers' fields, and a user who never read the gold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.actions.access import Caller
from app.errors import InvalidRequest, MayHaveReadGold
from app.store import clock, locks
from app.store.queries import registration_rules
from app.store.session import ReadSession, WriteSession
from app.store.tables import Challenge, ChallengeTerms, Registration

MAX_ANSWER_LENGTH = 2000
CODE_HEADER = "Assay-Invitation"
"""The header with which the holder of a code reads the challenge that it invites to."""


@dataclass(frozen=True, slots=True)
class Statements:
    """What a user states at registration: the version of the terms that they accept, and answers by field name."""

    terms: int | None = None
    fields: Mapping[str, str] = field(default_factory=dict)


def require_may_compete(session: WriteSession, caller: Caller, user_id: str, challenge: Challenge) -> None:
    """Raise MayHaveReadGold for administrators and for whoever could ever read the gold of the challenge."""
    if caller.admin:
        detail = "An administrator can read the gold of every challenge, and so cannot take part."
        raise MayHaveReadGold(detail, remedy="Take part with another account, which is no administrator's.")
    locks.copies(session, registration_rules.line_of(challenge))
    if registration_rules.could_read_gold(session, challenge, user_id):
        raise MayHaveReadGold


def apply_statements(
    session: WriteSession, challenge: Challenge, registration: Registration, statements: Statements
) -> None:
    """Store what the user states, if with it the registration is complete; raises InvalidRequest with all faults."""
    asked, known = challenge.registration_fields, registration.fields or {}
    faults = [
        *_terms_faults(challenge, registration, statements.terms),
        *_unknown_answers(asked, statements.fields),
        *_missing_answers(asked, {**known, **statements.fields}),
    ]
    _store_statements(session, registration, statements, faults)


def change_statements(
    session: WriteSession, challenge: Challenge, registration: Registration, statements: Statements
) -> None:
    """Store what the user states anew; raises InvalidRequest with all faults.

    What was asked for later does not keep anybody from accepting terms: it is due at the next registration.
    """
    given = [each for each in challenge.registration_fields if each["name"] in statements.fields]
    faults = [
        *([] if statements.terms is None else _terms_faults(challenge, registration, statements.terms)),
        *_unknown_answers(challenge.registration_fields, statements.fields),
        *_missing_answers(given, statements.fields),
    ]
    _store_statements(session, registration, statements, faults)


def _store_statements(
    session: WriteSession, registration: Registration, statements: Statements, faults: list[dict[str, str]]
) -> None:
    if faults:
        details = "; ".join(f"{fault['pointer']}: {fault['detail']}" for fault in faults)
        remedy = (
            "Send 'terms' and 'fields' as 'terms_version' and 'registration_fields' of the challenge ask for them; its "
            f"'terms' are the text (with a code, read it with the header {CODE_HEADER})."
        )
        raise InvalidRequest(f"The registration is not complete: {details}.", remedy=remedy, errors=faults)
    if statements.terms is not None:
        registration.terms_version, registration.terms_accepted_at = statements.terms, clock.now(session)
    registration.fields = {**(registration.fields or {}), **statements.fields}


def _terms_faults(challenge: Challenge, registration: Registration, accepted: int | None) -> list[dict[str, str]]:
    current = challenge.terms_version
    if accepted is None and registration.terms_version is not None and registration.terms_version >= current:
        return []
    if accepted == (current or None):
        return []
    if not current:
        return [{"pointer": "/terms", "detail": "the challenge has no terms to accept"}]
    return [{"pointer": "/terms", "detail": f"accept the current terms, which are version {current}"}]


def _unknown_answers(asked: Sequence[Mapping[str, Any]], answers: Mapping[str, str]) -> list[dict[str, str]]:
    names = {each["name"] for each in asked}
    known = f"; the fields are: {', '.join(sorted(names))}" if names else ""
    return [
        {"pointer": f"/fields/{name}", "detail": f"the challenge does not ask for this{known}"}
        for name in answers
        if name not in names
    ]


def _missing_answers(asked: Sequence[Mapping[str, Any]], answers: Mapping[str, str]) -> list[dict[str, str]]:
    return [
        {"pointer": f"/fields/{each['name']}", "detail": f"required: {each['label']}"}
        for each in asked
        if each.get("required") and not answers.get(each["name"], "").strip()
    ]


def set_terms(session: WriteSession, challenge: Challenge, text: str | None) -> None:
    """Make a new version of the terms unless the text is the current one; without a text there are no terms."""
    if text == current_terms(session, challenge):
        return
    if text is None:
        challenge.terms_version = 0
        return
    version = registration_rules.last_terms_version(session, challenge.id) + 1
    session.add(ChallengeTerms(challenge_id=challenge.id, version=version, text=text, created_at=clock.now(session)))
    challenge.terms_version = version
    session.flush()


def current_terms(session: ReadSession, challenge: Challenge) -> str | None:
    """The text of the terms to accept; None if there are none."""
    row = session.get(ChallengeTerms, (challenge.id, challenge.terms_version)) if challenge.terms_version else None
    return None if row is None else row.text
