"""The settings of the service: name, type, default and one line of help each; the variable is ASSAY_<NAME>."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

MIB = 1024 * 1024
DATABASE_URL_PATTERN = (
    r"^(sqlite:///.+|postgresql\+psycopg://[^@]+(@[^@]+)?)?$"  # a second @ is an unescaped one in the password
)
FILES_URL_PATTERN = r"^(s3://[^/]+(/([^/.][^/]*|\.[^/.][^/]*)?)*)?$"  # no . or .. component in the prefix
OTHER_VARIABLES = ("ASSAY_URL", "ASSAY_TOKEN", "ASSAY_REQUIRE")  # read by the client and by the tests
MIN_HEARTBEATS_PER_LEASE = 2  # so that one heartbeat may be late
RATE_LIMIT_PATTERN = r"[1-9][0-9]{0,8}/(second|minute|hour|day)"


class Settings(BaseSettings):
    """Read from the environment (prefix ASSAY_); options of the command line override the environment."""

    model_config = SettingsConfigDict(env_prefix="ASSAY_", env_ignore_empty=True, extra="ignore", frozen=True)

    # ---- storage and addresses
    data_dir: Path = Field(
        Path("assay-data"), description="Folder of the database, the uploaded files and the secrets."
    )
    database_url: str = Field(
        "",
        pattern=DATABASE_URL_PATTERN,
        description="URL of the database: sqlite:///path or postgresql+psycopg://…, where @ : / in a password are written %40 %3A %2F; "
        "empty means SQLite inside the data folder.",
    )
    database_url_file: Path | None = Field(
        None, description="File that holds the URL of the database, which may contain a password."
    )
    database_pool: int = Field(
        10,
        ge=2,
        description="PostgreSQL connections that one process may open for reading; the same number for writing.",
    )
    files_url: str = Field(
        "",
        pattern=FILES_URL_PATTERN,
        description="Where uploads are stored: s3://bucket/prefix; empty means inside the data folder.",
    )
    files_shared: bool = Field(
        default=False,
        description="Confirms that all hosts share the disk of the data folder's files; required for PostgreSQL with a folder.",
    )
    files_cache: int = Field(
        4096 * MIB,
        ge=0,
        description="Bytes of downloaded files that a process caches on its disk if uploads are in a bucket.",
    )
    s3_endpoint: str = Field(
        "",
        pattern=r"^(https?://\S+)?$",
        description="URL of the S3 service; empty: AWS_ENDPOINT_URL, else the service of AWS.",
    )
    s3_region: str = Field("", description="Region of the S3 service; empty: AWS_REGION, else us-east-1.")
    s3_access_key: str = Field("", description="Access key of the S3 service; empty: AWS_ACCESS_KEY_ID.")
    s3_secret_key: SecretStr | None = Field(
        None, description="Secret key of the S3 service; empty: AWS_SECRET_ACCESS_KEY."
    )
    s3_secret_key_file: Path | None = Field(None, description="File that holds the secret key.")
    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8000, ge=0, le=65535, description="Port to listen on; 0 selects a free one.")

    public_url: str = Field(
        "",
        pattern=r"^(https?://[^\s?#]+)?$",
        description="Address at which people reach the service; links that it makes begin with it.",
    )
    insecure_login: bool = Field(
        default=False,
        description="Allows people to log in on pages by plain http at an address other than this machine's own; "
        "passwords then cross the network unencrypted.",
    )
    privacy_url: str = Field(
        "",
        pattern=r"^(https?://[^\s]+|/[^\s]*)?$",
        description="Address of the privacy notice, which every page links.",
    )
    imprint_url: str = Field(
        "",
        pattern=r"^(https?://[^\s]+|/[^\s]*)?$",
        description="Address of the imprint, which every page links.",
    )
    trusted_proxies: str = Field(
        "", description="Comma-separated addresses of reverse proxies whose X-Forwarded-For header is trusted."
    )

    worker_port: int = Field(
        0, ge=0, le=65535, description="Port on which `assay worker` serves /healthz and /metrics; 0 disables it."
    )

    # ---- access
    admin_token: SecretStr | None = Field(
        None, description="The administrator's token (32 characters or more); never stored."
    )
    admin_token_file: Path | None = Field(None, description="File that holds the administrator's token.")
    signup: Literal["open", "invitation", "closed"] = Field("open", description="Who may create an account.")
    challenge_creation: Literal["admin", "approved", "any"] = Field(
        "admin", description="Who may create challenges: only administrators, also approved users, or anyone."
    )
    rate_limits: str = Field(
        "600/minute",
        pattern=f"^(off|{RATE_LIMIT_PATTERN})$",
        description="Requests allowed per user (per address without a token); 'off' disables this and the next three limits.",
    )
    login_limit: str = Field(
        "10/minute",
        pattern=f"^{RATE_LIMIT_PATTERN}$",
        description="Failed logins allowed per account from one address; after ten times as many to one account, or from "
        "one address, further logins are slowed down.",
    )
    signup_limit: str = Field(
        "200/hour",
        pattern=f"^{RATE_LIMIT_PATTERN}$",
        description="Sign-ups allowed from one address; administrators are not limited.",
    )
    team_limit: str = Field(
        "20/hour",
        pattern=f"^{RATE_LIMIT_PATTERN}$",
        description="Teams that one user may create; ten times as many from one address.",
    )

    # ---- transparency log
    log_key_file: Path | None = Field(
        None,
        description="File of the private Ed25519 key of the transparency log, in PEM. On PostgreSQL the workers with this "
        "setting sequence the log, one at a time; empty on SQLite: keys/log.pem in the data folder, which the service makes.",
    )
    log_witnesses: str = Field(
        "",
        pattern=r"^(https?://[^\s,]+ [^\s+,]+\+[0-9a-f]{8}\+[A-Za-z0-9+/=]+(, *https?://[^\s,]+ [^\s+,]+\+[0-9a-f]{8}\+[A-Za-z0-9+/=]+)*)?$",
        description="Comma-separated witnesses of the transparency log, each an address, a space and a verifier key; none by "
        "default, and then nothing but comparing checkpoints shows whether all see the same log.",
    )

    # ---- receipts
    receipt_key_file: Path | None = Field(
        None,
        description="File of the private Ed25519 key that signs receipts, in PEM; empty: keys/receipts.pem in the data "
        "folder, created at the first start.",
    )

    # ---- scoring
    workers: int = Field(
        default_factory=lambda: max(1, min(4, os.cpu_count() or 1)),
        ge=1,
        le=64,
        description="Number of scoring processes.",
    )
    scoring_seconds: float = Field(
        60.0, gt=0, description="Seconds of wall time that one scoring may take; a longer one is stopped and retried."
    )
    reading_seconds: float = Field(
        30.0,
        gt=0,
        description="Seconds that one dry run, template or report may take once it has started; at most scoring_seconds.",
    )
    scoring_cpu: float | None = Field(
        None,
        gt=0,
        description="Seconds of CPU time that reading a file may take, and the same again for scoring it; a file that "
        "takes longer to read is rejected. Less than scoring_seconds.",
    )
    stall_seconds: float = Field(
        10.0,
        gt=0,
        description="Seconds after which a scoring process is replaced if it is stopped, or uses no CPU time, while it has "
        "work and does not wait for the disk.",
    )
    prepared_gold: int = Field(
        4096 * MIB,
        ge=0,
        description="Bytes of prepared gold that a process caches on its disk, such as copies from a bucket; "
        "with 0 every scoring process reads the gold file.",
    )
    scoring_memory: int = Field(2048 * MIB, ge=256 * MIB, description="Bytes of data memory of one scoring process.")
    analysis_seconds: float = Field(
        600.0,
        gt=0,
        description="Seconds of wall time that the intervals of one submission or the comparison of one board may take.",
    )
    comparison_interval: float = Field(
        60.0, ge=0, description="Seconds between the starts of two comparisons of the rows of one board."
    )
    background_pace: float = Field(
        1.0,
        gt=0,
        le=1,
        description="Factor on the pauses between two looks for background work: switches, previews, imports and the "
        "transparency log. A smaller one looks more often, which costs processor time while nothing happens.",
    )
    crash_cap: int = Field(3, ge=1, description="Crashes or exceeded limits of one task before it fails for good.")
    interruption_cap: int = Field(50, ge=1, description="Interruptions of one task before it fails for good.")

    # ---- limits of uploads
    max_upload: int = Field(64 * MIB, ge=1024, description="Bytes of an upload as sent (compressed).")
    max_challenge_file: int = Field(
        4096 * MIB, ge=1024, description="Bytes of a file that a challenge offers, such as training data."
    )
    max_import: int = Field(4096 * MIB, ge=1024, description="Bytes of an archive of a phase that is imported.")
    max_expanded: int = Field(1024 * MIB, ge=1024, description="Bytes of an upload after decompression.")
    max_records: int = Field(10_000_000, ge=1, description="Records in one file.")
    max_classes: int = Field(100_000, ge=2, description="Classes of one vocabulary.")
    max_columns: int = Field(100_100, ge=2, description="Columns of a table (CSV, TSV, Parquet, Arrow).")
    max_text_length: int = Field(1000, ge=1, le=100_000, description="Characters of one id or label.")
    max_nesting: int = Field(64, ge=4, le=500, description="Levels of lists and objects in a JSON file.")
    max_json_body: int = Field(1 * MIB, ge=1024, description="Bytes of a JSON request body that is not a file.")
    max_accessory: int = Field(
        32 * MIB,
        ge=1024,
        description="Bytes of a JSON body of gold metadata, such as classes, a hierarchy or folds.",
    )
    upload_idle: float = Field(30.0, gt=0, description="Seconds that an upload may pause before it is aborted.")
    upload_rate: int = Field(
        1024,
        ge=0,
        description="Bytes per second that an upload must average, checked after ASSAY_UPLOAD_IDLE seconds; 0 disables the check.",
    )
    min_free: int = Field(1024 * MIB, ge=0, description="Free bytes on the data disk below which uploads get 503.")
    max_waiters: int = Field(
        500,
        ge=0,
        description="Requests that may wait (Prefer: wait) at the same time; others get 202 at once. Event streams may "
        "be half of them; further ones get 503.",
    )

    # ---- what is kept
    rejected_days: int = Field(
        7, ge=1, le=36500, description="Days for which the files of rejected and cancelled submissions are kept."
    )
    rejected_bytes: int = Field(
        256 * MIB,
        ge=0,
        description="Bytes of such files that are kept of each team and day (UTC); beyond that the oldest are deleted.",
    )

    # ---- timeouts of the database and of workers
    database_wait: float = Field(
        10.0, gt=0, description="Seconds that a writer waits for the SQLite database, or for a PostgreSQL lock."
    )
    statement_seconds: float = Field(
        30.0, gt=0, description="Seconds that one statement may take on PostgreSQL; migrations have no limit."
    )
    heartbeat_seconds: float = Field(
        4.0,
        gt=0,
        description="Seconds between heartbeats of a worker on PostgreSQL, which renew the leases of its tasks.",
    )
    lease_seconds: float = Field(
        12.0,
        gt=0,
        description="Seconds after its last heartbeat at which a worker's tasks go to others; at least twice heartbeat_seconds.",
    )
    drain_seconds: float = Field(
        10.0, ge=0, description="Seconds that running work may still take when the service shuts down."
    )

    # ---- metrics and logs
    metrics_access: Literal["administrators", "local", "open"] = Field(
        "administrators",
        description="Who may read /metrics of the API: only administrators; 'local': also requests to this machine's "
        "loopback address and port, unless ASSAY_TRUSTED_PROXIES names a proxy; 'open': everybody.",
    )
    log_format: Literal["auto", "json", "console"] = Field(
        "auto", description="Log lines as JSON or as text for a console; auto: as text on a terminal."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="Lowest level that is logged.")

    @model_validator(mode="after")
    def _check_lease_outlasts_heartbeats(self) -> Self:
        """With a shorter lease, live workers would lose their tasks again and again, until the tasks fail for good."""
        if self.lease_seconds < MIN_HEARTBEATS_PER_LEASE * self.heartbeat_seconds:
            raise ValueError("lease_seconds has to be at least twice heartbeat_seconds")
        return self

    @model_validator(mode="after")
    def _check_cpu_below_wall_time(self) -> Self:
        """With a higher CPU limit, the wall time would always run out first, so the limit would have no effect."""
        if self.scoring_cpu is not None and self.scoring_cpu >= self.scoring_seconds:
            raise ValueError("scoring_cpu has to be less than scoring_seconds")
        return self

    @property
    def cpu_seconds(self) -> float:
        """Seconds of CPU time that reading one file may take."""
        return self.scoring_seconds / 3 if self.scoring_cpu is None else self.scoring_cpu

    @property
    def database(self) -> str:
        """The URL of the database in use; raises OSError or ValueError for a file that holds none."""
        url = self.database_url
        if self.database_url_file is not None:
            url = self.database_url_file.read_text().strip()
            if not url or not re.match(DATABASE_URL_PATTERN, url):
                raise ValueError(
                    f"{self.database_url_file} holds no URL such as postgresql+psycopg://user@host/name, where @ : / in a password are %40 %3A %2F"
                )
        return url or f"sqlite:///{(self.data_dir / 'assay.sqlite3').resolve()}"

    @property
    def on_postgresql(self) -> bool:
        """Whether the database is PostgreSQL, which several machines can share."""
        return self.database.startswith("postgresql")

    @property
    def files_dir(self) -> Path:
        """The folder of uploaded files."""
        return self.data_dir / "files"


def known_variables() -> list[str]:
    """Every environment variable that is read."""
    return [*(f"ASSAY_{name.upper()}" for name in Settings.model_fields), *OTHER_VARIABLES]


def unknown_variables(environment: Iterable[str]) -> list[str]:
    """Variables with our prefix that nothing reads; usually misspelled."""
    known = known_variables()
    return sorted(name for name in environment if name.upper().startswith("ASSAY_") and name.upper() not in known)


def describe_settings() -> list[dict[str, str]]:
    """Name, default and help of every setting, for the documentation and its test."""
    rows = []
    for name, field in Settings.model_fields.items():
        default = "" if field.default is None else str(field.default)
        if name == "workers":
            default = "number of processors, at most 4"
        if name == "scoring_cpu":
            default = "a third of scoring_seconds"
        rows.append({"name": f"ASSAY_{name.upper()}", "default": default, "help": field.description or ""})
    return rows


def settings_page() -> str:
    """The page docs/settings.md."""
    lines = [
        "# Settings",
        "",
        "Every setting is an environment variable; `assay serve` also takes the most common ones as options. This page",
        "is written from `app/settings.py`.",
        "",
        "| variable | default | meaning |",
        "|---|---|---|",
    ]
    for row in describe_settings():
        cells = (f"`{row['name']}`", f"`{row['default']}`" if row["default"] else "", row["help"])
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
