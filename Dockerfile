# Assay: one image for every command. The default is `assay serve`: API, scoring and embedded database together.
#
#   docker build -t assay .
#   docker run --init -p 127.0.0.1:8000:8000 -v assay-data:/data assay
#   docker run --rm assay assay --help
#
# All packages are pinned and checked against their hashes; nothing is compiled.

# ---- build: the wheel, and a virtual environment with it ----------------------------------------
FROM python:3.11-slim AS build

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src

COPY requirements-build.txt ./
RUN pip install --require-hashes --only-binary :all: -r requirements-build.txt

# Dependencies before the source, so that a change of the source does not reinstall them.
COPY requirements.txt ./
RUN python -m venv /opt/assay \
    && /opt/assay/bin/pip install --require-hashes --only-binary :all: -r requirements.txt

COPY pyproject.toml README.md LICENSE NOTICE ./
COPY migrations ./migrations
COPY examples/digits ./examples/digits
COPY app ./app
RUN python -m hatchling build --target wheel --directory /wheels \
    && /opt/assay/bin/pip install --no-index --no-deps /wheels/*.whl

# ---- run: no source, no build tools, no root ----------------------------------------------------
FROM python:3.11-slim

RUN useradd --system --uid 10001 --no-create-home --home-dir /data --shell /usr/sbin/nologin assay \
    && install --directory --owner assay --mode 700 /data
COPY --from=build /opt/assay /opt/assay

# Set here, not in CMD, so that every command uses the volume.
ENV PATH=/opt/assay/bin:$PATH \
    ASSAY_DATA_DIR=/data \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1
USER assay
WORKDIR /data
VOLUME /data
EXPOSE 8000

# For `serve` and `api`; services that listen elsewhere, or not at all, override it (docker-compose.yml).
# urlopen raises for a refused connection and for any status of 400 or more.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]

CMD ["assay", "serve", "--host", "0.0.0.0"]
