"""The page of a challenge, and its files for browsers."""

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Query
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from app.actions.challenges.announcements import list_announcements
from app.actions.challenges.challenge_files import list_files
from app.actions.challenges.read_agreed_recipes import read_agreed_recipes
from app.actions.versions.read_errata import last_correction
from app.api.announcements import AnnouncementShape
from app.api.challenge_files import FileShape, get_file
from app.api.phases import PhaseShape, TemplateFormat, get_template
from app.store.session import ReadSession
from app.web.challenge_frame import ChallengeFrame, read_frame
from app.web.checklist import challenge_checklist
from app.web.example_file import example_file, text_formats
from app.web.metric_words import RecipeWords, words_of_recipes
from app.web.page import PageContext, PageDep, for_this_reader, page_router
from app.web.phase_words import BOARD_WORDS, LATE_WORDS, STATE_WORDS, phase_state, phase_to_enter, quota_sentences
from app.web.rendering import render
from app.web.submission_commands import submission_commands

router = page_router()

ANNOUNCEMENTS = 5


@router.get("/challenges/{slug}")
def show_challenge(slug: str, page: PageDep, news: Annotated[str | None, Query(max_length=200)] = None) -> Response:
    """What a challenge is about, its rules, and how to take part; `news` is the cursor of its announcements."""
    with page.state.db.read() as session:
        frame = read_frame(page, session, slug)
        values = _read_values(page, session, frame, news)
    return render(page, "challenge.html", frame=frame, tab="overview", **values)


def _read_values(page: PageContext, session: ReadSession, frame: ChallengeFrame, news: str | None) -> dict[str, Any]:
    slug, caller, now = frame.challenge.slug, page.caller, datetime.now(UTC)
    announcements, older = list_announcements(session, caller, slug, limit=ANNOUNCEMENTS, cursor=news)
    recipes = words_of_recipes(read_agreed_recipes(session, caller, slug))
    checklist = []
    if frame.role is not None:
        checklist = challenge_checklist(session, caller, slug, signup=page.state.settings.signup)
    return {
        "announcements": [AnnouncementShape.model_validate(row) for row in announcements],
        "older_news": older,
        "files": [FileShape.model_validate(row) for row in list_files(session, caller, slug)],
        "recipes": recipes,
        "checklist": checklist,
        "timeline": [_timeline_row(frame, phase, now) for phase in frame.challenge.phases],
        "entry": _entry(page, frame, recipes, now),
        "public_address": _public_address(page, frame),
        "is_corrected": any(last_correction(session, caller, slug, each.slug) for each in frame.challenge.phases),
    }


def _timeline_row(frame: ChallengeFrame, phase: PhaseShape, now: datetime) -> dict[str, Any]:
    state = phase_state(phase, now, archived=frame.challenge.archived_at is not None)
    return {
        "phase": phase,
        "state": state,
        "state_words": STATE_WORDS[state],
        "quota": quota_sentences(phase.quota),
        "board": BOARD_WORDS[phase.leaderboard],
        "late": LATE_WORDS[phase.late],
    }


def _entry(
    page: PageContext, frame: ChallengeFrame, recipes: list[RecipeWords], now: datetime
) -> dict[str, Any] | None:
    """How to take part in the phase that matters now: an example of its file and lines that submit it."""
    phase = phase_to_enter(frame.challenge.phases, now, archived=frame.challenge.archived_at is not None)
    if phase is None:
        return None
    slug = frame.challenge.slug
    scores = any(each.needs_scores for each in recipes if phase.slug in each.phases)
    return {
        "phase": phase,
        "file": example_file(page.state, page.caller, slug, phase, scores=scores),
        "needs_scores": scores,
        "commands": submission_commands(page.site.origin, slug, phase.slug),
        "formats": text_formats(),
        "takes_files": phase_state(phase, now, archived=frame.challenge.archived_at is not None) != "closed",
    }


def _public_address(page: PageContext, frame: ChallengeFrame) -> str | None:
    """The address for other sites, of a challenge that visitors see on a service whose public address is known."""
    challenge = frame.challenge
    is_public = challenge.status == "published" and challenge.visibility == "public"
    return f"{page.site.origin}{frame.path}" if is_public and page.site.is_declared else None


@router.get("/challenges/{slug}/files/{file_name}")
async def download_file(slug: str, file_name: str, page: PageDep) -> Response:
    """A file of a challenge, for a browser by its session, with the rule of the API."""
    return for_this_reader(await run_in_threadpool(get_file, slug, file_name, page.caller, page.state))


@router.get("/challenges/{slug}/phases/{phase}/template")
async def download_template(slug: str, phase: str, page: PageDep, format_name: TemplateFormat = "csv") -> Response:
    """The template of a phase, for a browser by its session, in any format of the API."""
    return for_this_reader(await get_template(slug, phase, page.request, page.caller, page.state, format_name))
