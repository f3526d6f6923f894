"""How to cite a frozen board: as a sentence, and for BibTeX."""

from app.store.tables import FrozenBoard

_SPECIAL = str.maketrans({sign: f"\\{sign}" for sign in "&%$#_{}"} | {"\\": "\\textbackslash{}"})


def cite(row: FrozenBoard, address: str) -> str:
    """The suggested citation."""
    frozen = row.created_at.strftime("%-d %B %Y")
    return f"{row.title}. Leaderboard, version {row.number}, frozen on {frozen}. {address}. SHA-256 {row.sha256}."


def cite_as_bibtex(row: FrozenBoard, address: str) -> str:
    """The same as an entry of a bibliography."""
    fields = {
        "title": f"{{{row.title.translate(_SPECIAL)}}}",
        "year": str(row.created_at.year),
        "month": str(row.created_at.month),
        "version": str(row.number),
        "howpublished": f"\\url{{{address}}}",
        "note": f"Leaderboard, SHA-256 {row.sha256}",
    }
    lines = "".join(f"  {name} = {{{text}}},\n" for name, text in fields.items())
    return f"@misc{{board-{row.sha256[:12]},\n{lines}}}\n"
