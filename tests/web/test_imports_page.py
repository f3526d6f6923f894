"""The page on which administrators import phases: it acts through the API, and shows why an import failed."""

import httpx

from tests.api.in_process_app import ServedApp
from tests.journeys.audited_objects import ARCHIVE
from tests.settle import settle
from tests.web.desk import administrator
from tests.web.reader import Reader, forms_of

PATH = "/administration/imports"


def send_archive(reader: Reader, content: bytes, **fields: str) -> httpx.Response:
    """Send the form of the page with a file."""
    form = next(each for each in forms_of(reader.get(PATH)) if each["action"] == PATH and each["method"] == "post")
    data = {name: values[0] for name, values in form["fields"].items()} | fields
    files = {"file": ("archive.zip", content, "application/zip")}
    return reader.client.post(PATH, data=data, files=files, headers={"Origin": reader.url})


def test_an_administrator_sends_an_archive_and_reads_what_became_of_it(app: ServedApp, reader: Reader) -> None:
    administrator(app, reader)
    assert "Nothing was imported yet" in reader.get(PATH).text
    refused = send_archive(reader, b"no archive")
    assert refused.status_code == 422
    assert "complete ZIP file" in refused.text
    assert send_archive(reader, ARCHIVE, slug="No Slug").status_code == 422
    sent = send_archive(reader, ARCHIVE, slug="moved", reason="agreed")
    assert sent.status_code == 303, sent.text
    address = sent.headers["location"].partition("?")[0]
    assert address.startswith(f"{PATH}/")
    assert address in reader.get(PATH).text
    settle(app)
    assert "Nothing was imported." in reader.get(address).text
    assert "agreed" in reader.get(address).text
    assert app.admin().get("/challenges/moved").status_code == 404
