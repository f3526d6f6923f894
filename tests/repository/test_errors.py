"""An error may say more than its declaration; `declaration_checks.py` checks the declarations."""

from app import errors
from app.api.http.problem_documents import problem_response


def test_an_error_that_names_the_cause_keeps_the_rest_of_its_declaration() -> None:
    error = errors.QuotaExceeded("Two of two.", headers={"Retry-After": "9"}, remedy="Wait.", used=2, reset_at=None)
    answer = problem_response(error)
    assert answer.headers["retry-after"] == "9"
    body = bytes(answer.body).decode()
    assert '"code":"quota_exceeded"' in body
    assert '"remedy":"Wait."' in body
    assert '"used":2' in body
    assert "reset_at" not in body
