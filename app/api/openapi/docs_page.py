"""The documentation page: Swagger UI from files of our own, no script from elsewhere."""

from fastapi import APIRouter
from starlette.responses import HTMLResponse, RedirectResponse

router = APIRouter(include_in_schema=False)

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
    # these three do not fall back on default-src
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
SWAGGER_HTML = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Assay API</title>
<link rel="stylesheet" href="/static/swagger-ui/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="/static/swagger-ui/swagger-ui-bundle.js"></script>
<script src="/static/docs.js"></script>
</body>
</html>
"""


@router.get("/docs")
async def docs() -> HTMLResponse:
    """Every route with its shapes and examples, to be tried out."""
    return HTMLResponse(SWAGGER_HTML, headers={"Content-Security-Policy": CONTENT_SECURITY_POLICY})


@router.get("/")
async def root() -> RedirectResponse:
    """The documentation is the front door."""
    return RedirectResponse("/docs")
