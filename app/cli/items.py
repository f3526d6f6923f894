"""The command that analyses items: of a challenge, or of a folder of prediction files without a service."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from app.cli.connection import connect_client
from app.cli.input import value_parsing
from app.cli.input.item_folder import FolderItems
from app.cli.input.prediction_folder import score_folder
from app.cli.input.relabelling_file import read_changes
from app.cli.options import (
    AsJson,
    AuditReason,
    Classes,
    Options,
    Phase,
    PositiveLabel,
    TaskType,
    Token,
    Url,
    file_option,
    gold_metadata_options,
)
from app.cli.terminal import item_tables
from app.cli.terminal.output import CommandOutput, command_output

if TYPE_CHECKING:
    from app.client import Client

_Source = Annotated[
    str, typer.Argument(metavar="SLUG|FOLDER", help="Challenge; or with --gold, a folder of prediction files.")
]
_Gold = Annotated[Path | None, file_option("--gold", "-g", help="Gold, for a folder of prediction files.")]
_Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", "-m", metavar="METRIC", help="Folder: what --relabel compares (default: f1_macro)."),
]
_Relabel = Annotated[
    Path | None,
    file_option("--relabel", help="JSON, JSON Lines or CSV of id and label; show what that would move. null voids."),
]
_SaveGold = Annotated[
    Path | None,
    typer.Option("--save-gold", metavar="FILE", help="Write the gold with the changes of --relabel, to be uploaded."),
]
_Select = Annotated[
    Literal["all", "suspect", "none_right", "all_right", "negative"],
    typer.Option("--select", metavar="SELECTION", help="all, suspect, none_right, all_right or negative."),
]
_Sort = Annotated[
    Literal["suspicion", "right", "discrimination", "agreement", "id"],
    typer.Option("--sort", metavar="ORDER", help="suspicion, right, discrimination, agreement or id."),
]


@gold_metadata_options()
def items(
    source: _Source,
    *,
    phase: Phase = None,
    gold: _Gold = None,
    select: _Select = "all",
    sort: _Sort = "suspicion",
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=200, help="Instances to show.")] = 20,
    agreement: Annotated[bool, typer.Option("--agreement", help="Show how far systems agree.")] = False,
    near_duplicates: Annotated[
        bool, typer.Option("--near-duplicates", help="Show systems of different teams with the same errors.")
    ] = False,
    relabel: _Relabel = None,
    save_gold: _SaveGold = None,
    split: Annotated[
        str | None, typer.Option("--split", metavar="SPLIT", help="all, public or private (default: all).")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All finished submissions, not only those that count.")] = False,
    metric: _Metrics = None,
    option: Options = None,
    task: TaskType = None,
    positive_label: PositiveLabel = None,
    classes: Classes = None,
    gold_metadata: Mapping[str, Path | None],
    reason: AuditReason = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print all instances of the selection as CSV.")] = False,
    url: Url = None,
    token: Token = None,
    as_json: AsJson = False,
) -> None:
    """Find suspect gold, systems with the same errors, and what a relabelling would move."""
    asked = _Question(select, sort, limit, agreement, near_duplicates, relabel, save_gold, as_csv=as_csv)
    asked.check(as_json=as_json)
    with command_output(as_json=as_json) as out:
        if gold is None:
            for value, name in ((metric, "--metric"), (option, "--option"), (task, "--task"), (classes, "--classes")):
                if value is not None:
                    raise typer.BadParameter("applies to a folder of prediction files, with --gold", param_hint=name)
            with connect_client(out, url, token) as client:
                scope = {"split": split, "submissions": "all" if every else "board"}
                _answer(out, asked, _ServiceItems(client, source, client.phase(source, phase), scope, reason))
            return
        if not Path(source).is_dir():
            raise typer.BadParameter("with --gold it has to be a folder of prediction files", param_hint="FOLDER")
        settings = {"task": task, "positive_label": positive_label, "classes": classes, "gold_metadata": gold_metadata}
        pairs = value_parsing.parse_option_pairs(option or ())
        scored = score_folder(out, Path(source), gold, settings, metrics=metric or ["f1_macro"], options=pairs)
        _answer(out, asked, FolderItems(scored))
        if not as_json:
            out.notes(scored.notes)


class _Question(NamedTuple):
    """What is asked about the systems."""

    select: str
    sort: str
    limit: int
    agreement: bool
    near_duplicates: bool
    relabel: Path | None
    save_gold: Path | None
    as_csv: bool

    def check(self, *, as_json: bool) -> None:
        """Refuse options that exclude each other."""
        if self.agreement + self.near_duplicates + (self.relabel is not None) + self.as_csv > 1:
            raise typer.BadParameter("use only one of --agreement, --near-duplicates, --relabel and --csv")
        if self.as_csv and as_json:
            raise typer.BadParameter("use only one of --csv and --json")
        if self.save_gold is not None and self.relabel is None:
            raise typer.BadParameter("needs the changes of --relabel", param_hint="--save-gold")


class _ServiceItems:
    """The systems of a phase."""

    def __init__(
        self, client: "Client", slug: str, phase: str, scope: Mapping[str, str | None], reason: str | None
    ) -> None:
        self._client, self._slug, self._phase, self._scope, self._reason = client, slug, phase, scope, reason

    def items(self, *, select: str, sort: str, limit: int) -> dict[str, Any]:
        return self._client.items(self._slug, self._phase, select=select, sort=sort, limit=limit, **self._scope)

    def table(self, *, select: str, sort: str) -> str:
        return self._client.items_csv(self._slug, self._phase, select=select, sort=sort, **self._scope)

    def agreement(self) -> dict[str, Any]:
        return self._client.agreement(self._slug, self._phase, **self._scope)

    def near_duplicates(self) -> dict[str, Any]:
        return self._client.near_duplicates(self._slug, self._phase, **self._scope)

    def try_relabelling(self, changes: Sequence[dict[str, Any]]) -> dict[str, Any]:
        return self._client.try_relabelling(self._slug, self._phase, changes, reason=self._reason, **self._scope)

    def save_corrected_gold(self, changes: Sequence[dict[str, Any]], target: Path) -> None:
        self._client.save_corrected_gold(self._slug, self._phase, changes, target, reason=self._reason)


def _answer(out: CommandOutput, asked: _Question, systems: "_ServiceItems | FolderItems") -> None:
    """Print what is asked."""
    if asked.as_csv:
        sys.stdout.write(systems.table(select=asked.select, sort=asked.sort))
    elif asked.relabel is not None:
        changes = read_changes(asked.relabel)
        moves = systems.try_relabelling(changes)
        out.result(moves, lambda console: item_tables.show_relabelling(console, moves))
        if asked.save_gold is not None:
            systems.save_corrected_gold(changes, asked.save_gold)
            out.note(f"Written: {asked.save_gold}. It can be uploaded with 'assay gold upload'.")
    elif asked.agreement:
        rates = systems.agreement()
        out.result(rates, lambda console: item_tables.show_agreement(console, rates))
    elif asked.near_duplicates:
        pairs = systems.near_duplicates()
        out.result(pairs, lambda console: item_tables.show_near_duplicates(console, pairs))
    else:
        found = systems.items(select=asked.select, sort=asked.sort, limit=asked.limit)
        out.result(found, lambda console: item_tables.show_items(console, found))
