"""One act on several rows that were ticked in a list, each in a transaction of its own."""

from collections.abc import Callable, Mapping
from typing import NoReturn

from app.errors import AssayError, InvalidRequest, NotFound
from app.web.forms import Form
from app.web.remedies import remedy_of

MAX_ROWS = 200


def act_on_ticked(form: Form, act: Callable[[str], object], *, names: Mapping[str, str] | None = None) -> None:
    """Do `act` with each ticked row, given its id; raises InvalidRequest that says which rows refused it and why.

    What was done before a refusal stays, and rows after it are tried too.
    """
    ids = list(dict.fromkeys(form.values("ids")))
    if not ids:
        _refuse([("", "Tick at least one row first.")])
    if len(ids) > MAX_ROWS:
        _refuse([("", f"Tick at most {MAX_ROWS} rows at once.")])
    refused: list[tuple[str, str]] = []
    for each in ids:
        try:
            act(each)
        except NotFound:
            refused.append((each, "It no longer exists."))
        except AssayError as error:
            advice = "" if isinstance(error, InvalidRequest) else remedy_of(error)
            refused.append((each, f"{error.detail} {advice}".strip()))
    if refused:
        _refuse([((names or {}).get(each, each), why) for each, why in refused])


def _refuse(refused: list[tuple[str, str]]) -> NoReturn:
    faults = [{"pointer": "", "detail": f"{name}: {why}" if name else why} for name, why in refused]
    raise InvalidRequest("Some rows refused this.", errors=faults)
