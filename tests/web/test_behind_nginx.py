"""The stream of a page behind a real nginx that buffers replies: an event arrives while the stream is open."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.api.in_process_app import ServedApp
from tests.live_service import MAX_WAIT_SECONDS, eventually, free_port
from tests.optional_tools import skip_or_fail
from tests.web.reader import Reader
from tests.web.test_leaderboard_page import PATH, new_challenge, submit, teams
from tests.web.test_live_leaderboard import following, stream_path, until_shown

pytestmark = pytest.mark.ci  # starts a proxy
CONFIGURATION = """\
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  gzip on;
  gzip_proxied any;
  gzip_types *;
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass {url};
      proxy_set_header Host $http_host;
      proxy_buffering on;
      proxy_buffers 8 64k;
    }}
  }}
}}
"""


def nginx() -> str:
    found = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
    if found is None:
        skip_or_fail("nginx", "no nginx; on Debian: apt-get install --no-install-recommends nginx-light")
    return found


@pytest.fixture
def proxy(app: ServedApp, tmp_path: Path) -> Iterator[str]:
    """The address of an nginx before the app."""
    program, port, file = nginx(), free_port(), tmp_path / "nginx.conf"
    file.write_text(CONFIGURATION.format(folder=tmp_path, port=port, url=app.url))
    with (tmp_path / "output").open("wb") as output:
        process = subprocess.Popen([program, "-p", str(tmp_path), "-c", str(file)], stdout=output, stderr=output)
    try:
        eventually(lambda: _answers(process, port, tmp_path), "nginx answers")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(MAX_WAIT_SECONDS)


def _answers(process: "subprocess.Popen[bytes]", port: int, folder: Path) -> bool:
    assert process.poll() is None, (folder / "output").read_text()
    try:
        return httpx.get(f"http://127.0.0.1:{port}/healthz", trust_env=False, timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def test_events_pass_a_proxy_that_buffers(app: ServedApp, proxy: str) -> None:
    slug = new_challenge(app.admin(), "proxied")
    submit(app.admin(), slug, "First", 2)
    reader = Reader(proxy)
    page = reader.get(PATH.format(slug))
    assert [name.split()[0] for name in teams(page)] == ["First"]
    assert page.headers["server"].startswith("nginx")
    with following(reader, stream_path(page)) as stream:
        assert "id" in stream.next()
        submit(app.admin(), slug, "Second", 3)
        until_shown(reader, stream, slug, "Second")
    reader.client.close()
