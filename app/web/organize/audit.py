"""The audit trail of a challenge: who did what, when and why."""

from starlette.responses import Response

from app.api.audit import get_challenge_audit
from app.web.audit_trail import ROWS, AskedDep, trail_row
from app.web.organize.frame import organizer_frame
from app.web.page import PageDep, page_router
from app.web.rendering import render

router = page_router()


@router.get("/challenges/{slug}/organize/audit")
def get_trail(slug: str, page: PageDep, asked: AskedDep) -> Response:
    """The entries that match, newest first."""
    frame = organizer_frame(page, slug)
    form, wanted = asked.form()
    entries = get_challenge_audit(slug, wanted, page.account, page.state, limit=ROWS, cursor=asked.cursor)
    return render(
        page,
        "organize/audit.html",
        status=422 if form.faults else 200,
        form=form,
        frame=frame,
        rows=[trail_row(entry) for entry in entries.items],
        following=entries.next,
        query=asked.query,
    )
