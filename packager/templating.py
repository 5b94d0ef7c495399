"""Texts from `templates/`, filled in by jinja2. A word that the template lacks or nobody gave is an error."""

from __future__ import annotations

import html
import shlex

from packager.resources import text
from packager.units import human_size


def fill(*place: str, **words: object) -> str:
    """The template at `templates/<place>` with `words` in it. Plain text: nothing is escaped for HTML."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(  # noqa: S701 (plain text, not HTML)
        loader=FunctionLoader(lambda name: text("templates", *name.split("/"))),  # for {% include %}
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"roff": _roff, "quoted": shlex.quote, "human": human_size, "xml": html.escape}
    return environment.from_string(text("templates", *place)).render(words)


def _roff(words: str) -> str:
    """Text for troff: no backslash escapes, no control line, and a hyphen that can be copied."""
    escaped = words.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
