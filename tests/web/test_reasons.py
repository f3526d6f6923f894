"""The reasons that forms give have the limits of the API, whichever form gives them."""

import re
from collections.abc import Callable

import pytest

from tests.api.in_process_app import ServedApp
from tests.live_service import PASSWORD
from tests.web.desk import DESK, administrator, new_account, organizer
from tests.web.reader import Reader, csrf_of

LONG = "x" * 2001
CONTROL = "a\x1b[2Jb"
TOKENS = "/account/tokens"


@pytest.mark.parametrize("reason", [LONG, CONTROL])
def test_a_token_is_not_revoked_for_a_reason_that_the_api_refuses(app: ServedApp, reader: Reader, reason: str) -> None:
    reader.log_in(new_account(app, "Ada"))
    made = reader.send(TOKENS, TOKENS, name="laptop", password=PASSWORD)
    (token,) = re.findall(r"export ASSAY_TOKEN=(assay_[\w.-]+)", made.text)
    answer = reader.send(TOKENS, f"{TOKENS}/revoke", reason=reason)
    assert answer.status_code == 422
    assert 'href="#field-reason' in answer.text
    assert app.caller(token).get("/me").status_code == 200


@pytest.mark.parametrize("reason", [LONG, CONTROL])
def test_the_desks_refuse_it_too(app: ServedApp, reader: Reader, new_reader: Callable[[], Reader], reason: str) -> None:
    organizer(app, reader)
    token = csrf_of(reader.get(DESK))
    forms = {
        "announcements": {"title": "News", "body": "Something."},
        "invitations": {},
        "phases": {"name": "Another"},
        "organizers/remove": {"email": "nobody@example.org"},
        "copy": {"slug": "digits-again", "title": "Again"},
    }
    for path, fields in forms.items():
        answer = reader.client.post(f"{DESK}/{path}", data=fields | {"csrf": token, "reason": reason})
        assert answer.status_code == 422, path
    path, admin = "/administration/invitations", new_reader()
    administrator(app, admin)
    assert admin.client.post(path, data={"csrf": csrf_of(admin.get(path)), "reason": reason}).status_code == 422


@pytest.mark.parametrize("reason", [LONG, "a\0b"])
@pytest.mark.parametrize("path", ["files", "phases/main/gold"])
def test_a_form_with_a_file_refuses_it_too(app: ServedApp, reader: Reader, reason: str, path: str) -> None:
    organizer(app, reader)
    parts = {"csrf": csrf_of(reader.get(DESK)), "reason": reason}
    parts |= {"licence": "CC0", "audience": "public", "description": "Data."} if path == "files" else {}
    fields = [(name, (None, value)) for name, value in parts.items()]
    answer = reader.client.post(f"{DESK}/{path}", files=[*fields, ("file", ("a.csv", b"id,label\nt1,cat\n"))])
    assert answer.status_code == 422
    assert 'href="#field-reason' in answer.text
