"""The first page of the organizer's desk: what is not ready yet, and how the challenge stands."""

from starlette.responses import Response

from app.web.forms import Form
from app.web.organize.frame import organizer_frame
from app.web.page import PageContext, PageDep, page_router
from app.web.rendering import NO_FORM, render

router = page_router()


@router.get("/challenges/{slug}/organize")
def get_overview(slug: str, page: PageDep) -> Response:
    """Shows what is not ready yet, what to do next and how the challenge stands."""
    return show_overview(page, slug)


def show_overview(page: PageContext, slug: str, form: Form = NO_FORM, status: int = 200) -> Response:
    """The page, with a form that was refused."""
    return render(page, "organize/overview.html", frame=organizer_frame(page, slug), form=form, status=status)
