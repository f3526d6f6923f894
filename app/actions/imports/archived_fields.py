"""The rows of an archive that is to be imported, with everything that a database must be able to rely on."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from app.archives.open_archive import InvalidArchive

_SLUG = r"^[a-z0-9][a-z0-9-]{0,62}[a-z0-9]$|^[a-z0-9]$"


def _without_nul(value: str) -> str:
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError("a text has a character that no text may have")
    return value


def _in_calendar(value: datetime) -> datetime:
    return value.astimezone(UTC)


Text = Annotated[str, StringConstraints(max_length=100_000), AfterValidator(_without_nul)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(_without_nul)]
Id = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
Slug = Annotated[str, StringConstraints(pattern=_SLUG)]
Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Number = Annotated[int, Field(ge=1, le=10**6)]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
Moment = Annotated[AwareDatetime, AfterValidator(_in_calendar)]
Limit = Annotated[int, Field(ge=0, le=10**6)]
Link = Annotated[str, StringConstraints(max_length=2000, pattern=r"^https?://[^\s]+$")]
Task = Literal["binary", "multiclass", "multilabel"]
Split = Literal["all", "public", "private"]


class Row(BaseModel):
    """A row; fields that this program does not know are ignored."""

    model_config = ConfigDict(strict=False, extra="ignore", frozen=True)


class OriginRow(Row):
    """Where an archive comes from."""

    url: Text = ""
    challenge_id: Id
    phase_id: Id


class ManifestHead(Row):
    """What a manifest says of its archive."""

    program: Annotated[str, StringConstraints(max_length=64)]
    scorer_version: Number
    exported_at: Moment
    challenge: Slug
    phase: Slug
    origin: OriginRow


class ChallengeRow(Row):
    """The settings of a challenge."""

    id: Id
    title: Name
    description: Text
    task: Task
    positive_label: Text | None
    classes: list[Text] | None
    timezone: Annotated[str, StringConstraints(max_length=64)]
    status: Literal["draft", "published"]
    visibility: Literal["public", "private"]
    registration: Literal["open", "approval", "invitation"]
    team_size_limit: Annotated[int, Field(ge=1, le=10**6)] | None
    archived_at: Moment | None
    created_at: Moment


class QuotaRow(Row):
    """The quota of a phase."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    per_day: Limit | None = None
    total: Limit | None = None
    concurrent: Limit | None = None
    invalid_per_day: Limit | None = None


class VersionsRow(Row):
    """Versions of gold, recipe and scorer."""

    gold_version: Number
    recipe_version: Number
    scorer_version: Number

    @property
    def key(self) -> tuple[int, int, int]:
        """The three numbers."""
        return self.gold_version, self.recipe_version, self.scorer_version


class PhaseRow(Row):
    """The settings of a phase."""

    id: Id
    slug: Slug
    name: Name
    opens_at: Moment
    closes_at: Moment | None
    late: Literal["refuse", "unofficial"]
    paused_at: Moment | None
    pause_reason: Text | None
    task: Task | None
    positive_label: Text | None
    classes: list[Text] | None
    quota: QuotaRow
    leaderboard: Literal["public", "hidden", "after_close"]
    reports: list[Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,40}$")]] = Field(max_length=20)
    anonymous: bool
    released_at: Moment | None
    scorer_version: Number
    created_at: Moment
    active: VersionsRow | None


class RecipeRow(Row):
    """A version of a recipe."""

    id: Id
    version: Number
    status: Literal["draft", "active", "retired"]
    body: dict[str, Any]
    fingerprint: Hash
    created_at: Moment
    own: bool


class FileRow(Row):
    """A row with a file."""

    sha256: Hash
    size: Count
    format: Annotated[str, StringConstraints(max_length=32)]
    encoding: Annotated[str, StringConstraints(max_length=16)]
    layout: Annotated[str, StringConstraints(max_length=16)]
    file: Annotated[str, StringConstraints(max_length=200)] | None


class GoldRow(FileRow):
    """A gold version."""

    id: Id
    version: Number
    status: Literal["draft", "activating", "active", "retired", "failed"]
    task: Task
    positive_label: Text | None
    classes: list[Text]
    classes_declared: bool
    notes: list[Text]
    draw_seed: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{0,32}$")]
    void_ids: list[Text] | None
    ids_hash: Hash | None
    difference: dict[str, Any] | None
    nonce: Hash
    commitment: Hash | None
    metadata: dict[str, Any]
    created_at: Moment
    activated_at: Moment | None


class TeamRow(Row):
    """A team."""

    id: Id
    name: Annotated[Name, StringConstraints(max_length=100)]
    baseline: bool
    test: bool
    merged_into: Id | None
    disqualified_at: Moment | None
    disqualified_reason: Text | None
    created_at: Moment


class SwitchRow(Row):
    """A switch of the board."""

    model_config = ConfigDict(populate_by_name=True, extra="ignore", frozen=True)

    id: Id
    number: Number
    status: Literal["pending", "done", "cancelled"]
    reason: Text
    requested_at: Moment
    confirmed_at: Moment | None
    switched_at: Moment | None
    cancelled_at: Moment | None
    lists_instances: bool
    errata: dict[str, Any] | None
    from_: VersionsRow | None = Field(alias="from")
    to: VersionsRow


class SubmissionRow(FileRow):
    """A submission."""

    id: Id
    order: Number
    status: Literal["queued", "running", "finished", "rejected", "failed", "cancelled"]
    team: Id
    sent_team: Id | None
    method: Annotated[str, StringConstraints(max_length=200), AfterValidator(_without_nul)]
    description: Text
    link: Link | None
    baseline: bool
    on_behalf: bool
    test: bool
    unofficial: bool
    submitted_at: Moment
    started_at: Moment | None
    finished_at: Moment | None
    attempt: Count
    problems: list[Any]
    problem_totals: dict[str, int]
    notes: list[Text]
    failure: dict[str, Any] | None
    file_removed_at: Moment | None
    selected_at: Moment | None
    withdrawn_at: Moment | None
    withdrawn_reason: Text | None
    disqualified_at: Moment | None
    disqualified_reason: Text | None
    received_under: VersionsRow | None


class ScoreRow(VersionsRow):
    """The values of one split."""

    submission: Id
    split: Split
    metrics: dict[str, dict[str, Any]]
    empty_predictions: Count
    created_at: Moment


class ReceiptRow(VersionsRow):
    """Of which score a receipt is."""

    id: Id
    submission: Id
    split: Split
    file: Annotated[str, StringConstraints(max_length=200)]
    proof: Annotated[str, StringConstraints(max_length=200)] | None


class FrozenRow(Row):
    """A frozen board."""

    number: Number
    title: Name
    reason: Text
    sha256: Hash
    checkpoint: Text | None
    frozen_at: Moment
    file: Annotated[str, StringConstraints(max_length=200)]


ParsedRow = TypeVar("ParsedRow", bound=Row)


def parse_row(kind: type[ParsedRow], row: Mapping[str, Any], where: str) -> ParsedRow:
    """A row of the archive; raises InvalidArchive that names the member and the first field that is wrong."""
    try:
        return kind.model_validate(row)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(map(str, first["loc"])) or "the row"
        raise InvalidArchive(f"'{where}' cannot be read: {field[:100]}: {first['msg'][:200]}.") from error
