"""Merge the own team with another one: propose, agree, decline and withdraw."""

from starlette.responses import Response

from app import errors
from app.api.teams import MergeRequest, delete_merge, post_merge
from app.web.forms import attempt
from app.web.notices import notice
from app.web.page import FormDep, PageDep, page_router, redirect
from app.web.team import PATH, own_team_id, team_page

router = page_router()

PROPOSED = notice("merge-proposed", "The merge is proposed. It happens when the captain of the other team agrees.")
MERGED = notice("merged", "The two teams are one now.")
WITHDRAWN = notice("merge-ended", "The proposal to merge is ended.")


@router.post(PATH + "/merge")
def post_merge_form(slug: str, page: PageDep, form: FormDep) -> Response:
    """Propose to merge with a team, or agree to its proposal."""
    account = page.account

    def act() -> Response:
        body = form.body(MergeRequest, **{"with": form.value("with").strip()})
        team_id = own_team_id(page, slug)
        try:
            result = post_merge(slug, team_id, body, account, page.state)
        except errors.NotFound as error:
            fault = {"pointer": "/with", "detail": error.detail}
            raise errors.InvalidRequest(error.detail, errors=[fault]) from error
        return redirect(page, f"/challenges/{slug}/team", done=MERGED if result.merged else PROPOSED)

    return attempt(form, act, lambda refused, status: team_page(page, slug, refused, status))


@router.post(PATH + "/merge/end")
def post_merge_end(slug: str, page: PageDep, form: FormDep) -> Response:
    """Withdraw the own proposal, or decline that of another team."""
    account = page.account

    def act() -> Response:
        delete_merge(slug, own_team_id(page, slug), form.value("with")[:100], account, page.state)
        return redirect(page, f"/challenges/{slug}/team", done=WITHDRAWN)

    return attempt(form, act, lambda refused, status: team_page(page, slug, refused, status))
