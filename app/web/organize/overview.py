"""The first page of the organizer's desk: what is not ready yet, and how the challenge stands."""

from starlette.responses import Response

from app.api.challenges import ChallengeEdit, patch_challenge
from app.api.usage import get_facts
from app.scoring.catalogue.description import describe_call
from app.scoring.declaration.metric_parser import parse_metric
from app.web.checklist import challenge_checklist
from app.web.forms import Form, attempt
from app.web.notices import notice
from app.web.organize.form_values import editor
from app.web.organize.frame import read_organizer_frame
from app.web.page import FormDep, PageContext, PageDep, page_router, redirect
from app.web.rendering import NO_FORM, render

router = page_router()
PUBLISHED = notice("challenge_published", "The challenge is published. Give the address of its page to participants.")


@router.get("/challenges/{slug}/organize")
def get_overview(slug: str, page: PageDep) -> Response:
    """Shows what is not ready yet, what to do next and how the challenge stands."""
    return show_overview(page, slug)


@router.post("/challenges/{slug}/organize/publish")
def post_publication(slug: str, page: PageDep, form: FormDep) -> Response:
    """Publishes a draft."""
    caller = editor(page, slug)

    def act() -> Response:
        patch_challenge(slug, ChallengeEdit(draft=False), caller.with_reason(form.reason()), page.state)
        return redirect(page, f"/challenges/{slug}/organize", done=PUBLISHED)

    return attempt(form, act, lambda refused, status: show_overview(page, slug, refused, status))


def show_overview(page: PageContext, slug: str, form: Form = NO_FORM, status: int = 200) -> Response:
    """The page, with a form that was refused."""
    with page.state.db.read() as session:
        frame = read_organizer_frame(page, session, slug)
        checklist = challenge_checklist(session, page.account, slug, signup=page.state.settings.signup)
    facts = get_facts(slug, page.account, page.state)
    recipe = frame.challenge.recipe
    calls = [describe_call(parse_metric(metric, options=recipe.options)) for metric in recipe.metrics]
    todo = [item for item in checklist if item.point.kind != "draft"]
    values = {"checklist": todo, "facts": facts, "metrics": calls}
    return render(page, "organize/overview.html", frame=frame, form=form, status=status, **values)
