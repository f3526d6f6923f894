"""Class labels that would look like nothing in a table, such as a space, as a word that people see."""


def visible_label(label: str) -> str:
    """The label itself, or `(blank U+0020)` with its code points where all of it is invisible."""
    if any(char.isprintable() and not char.isspace() for char in label):
        return label
    return f"({' '.join(['blank', *(f'U+{ord(char):04X}' for char in label)])})"
