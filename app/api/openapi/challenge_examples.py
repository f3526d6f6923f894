"""Examples of announcements, files, roles and checks of recipes in the API description."""

from app.api.openapi.examples import BOARD, JSON, TIMESTAMP, named_examples
from app.api.openapi.inference_example import INFERENCE

ANNOUNCEMENT: JSON = {
    "id": "01a1fbb9e1d07c2fa6a27bb1e1f0a5c4",
    "title": "The test phase opens on Monday",
    "body": "Its gold has 2,000 instances.",
    "created_at": TIMESTAMP,
    "edited_at": None,
}
FEED: JSON = named_examples(
    feed='<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">…</feed>\n'
)
CHALLENGE_FILE: JSON = {
    "name": "train.csv",
    "description": "10,000 labelled photographs.",
    "licence": "CC-BY-4.0",
    "audience": "public",
    "media_type": "text/csv",
    "size": 16,
    "sha256": "3af9637c3fc95d187e342e03a93954f2400847dc543f0aee6312109c8832c749",
    "created_at": TIMESTAMP,
}
DOWNLOADED_FILE: dict[str, JSON] = {
    "application/octet-stream": named_examples(file="id,label\nt1,cat\n"),
}
OWN_ROLE: JSON = {
    "challenge": "pets",
    "title": "Cats and dogs",
    "role": "owner",
    "status": "published",
    "visibility": "public",
    "archived_at": None,
}
RECIPE_CHECK: JSON = {
    "primary": BOARD["primary"],
    "metrics": BOARD["metrics"],
    "selection": BOARD["selection"],
    "ladder": None,
    "inference": [INFERENCE],
}
