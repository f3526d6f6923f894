"""The page of the transparency log: what it is, its key, and how anybody verifies it."""

from starlette.responses import Response

from app.actions.transparency.read_log import describe_logs
from app.web.page import PageDep, page_router
from app.web.rendering import render

router = page_router()

COMMANDS = """\
assay log checkpoint --url URL -o monday.txt
assay log verify --url URL
assay log verify --url URL --old monday.txt --key VKEY
assay log verify --proof receipt.tlog-proof --receipt receipt.json --key VKEY
"""


@router.get("/log")
def show_log(page: PageDep) -> Response:
    """Origin, verifier key and last checkpoint of the log that grows, and the logs before it."""
    with page.state.db.read() as session:
        logs = describe_logs(session)
    witnesses = bool(page.state.settings.log_witnesses)
    address = page.state.settings.public_url.rstrip("/")
    commands = COMMANDS.replace(" --url URL", f" --url {address}" if address else "")
    if logs:
        commands = commands.replace("VKEY", logs[0].vkey)
    return render(page, "log.html", logs=logs, has_witnesses=witnesses, commands=commands)
