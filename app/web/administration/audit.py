"""The audit trail of the site."""

from starlette.responses import Response

from app.api.audit import get_audit
from app.web.administration.frame import require_admin, show
from app.web.audit_trail import ROWS, AskedDep, trail_row
from app.web.page import PageDep, page_router

router = page_router()


@router.get("/administration/audit")
def get_trail(page: PageDep, asked: AskedDep) -> Response:
    """The entries that match, newest first."""
    require_admin(page)
    form, wanted = asked.form()
    challenge = asked.fields.get("challenge") or None
    entries = get_audit(wanted, page.account, page.state, challenge, limit=ROWS, cursor=asked.cursor)
    rows = [trail_row(entry) for entry in entries.items]
    status = 422 if form.faults else 200
    return show(page, "audit", "audit.html", form, status, rows=rows, following=entries.next, query=asked.query)
