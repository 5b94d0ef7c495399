"""`explain`: one page about a rule or an error code, from the tables that the rules and the runner use."""

from __future__ import annotations

import re
import textwrap

from packager.decoder import explain_code
from packager.rules.core import Severity, all_rules
from packager.rules.table import seen_at, texts

_MOST_PLACES = 6


def explain_subject(subject: str) -> str | None:
    """A page of plain text, or None when neither the rules nor the codes know the subject."""
    word = subject.strip().upper()
    if re.fullmatch(r"HEX\d+", word):
        return _rule_page(word)
    return _code_page(subject.strip())


def _rule_page(rule_id: str) -> str | None:
    text = texts().get(rule_id)
    if text is None:
        return None
    registered = all_rules().get(rule_id)
    severity = registered.severity if registered else Severity.WARNING  # HEX601 is judged without a rule
    lines = [f"{rule_id}  {text.title}  ({severity})", "", _wrapped(text.explanation)]
    if text.on_device:
        lines += ["", _wrapped(f"On the device: {text.on_device}")]
    lines += ["", *_source(text.source), "", _wrapped(_allow_hint(rule_id))]
    return "\n".join(lines)


def _source(source: str) -> list[str]:
    lines = [_wrapped(f"Source: {source}")]
    if places := seen_at(source):
        more = len(places) - _MOST_PLACES
        words = ", ".join(places[:_MOST_PLACES]) + (f" and {more} more" if more > 0 else "")
        lines.append(_wrapped(f"Seen at: {words}"))
    return lines


def _allow_hint(rule_id: str) -> str:
    return (
        f'To accept it on purpose: [[allow]] rule = "{rule_id}", target = "…", reason = "…" in the manifest.'
    )


def _code_page(code: str) -> str | None:
    known = explain_code(code)
    if known is None:
        return None
    lines = [f"{known.text}  {known.name}", "", _wrapped(known.sentence)]
    if known.look_first:
        lines += ["", "Look first at:", *(f"  * {line}" for line in known.look_first)]
    if known.rules:
        lines += ["", "Caught before the device by:"]
        lines += [f"  {rule_id}  {texts()[rule_id].title}" for rule_id in known.rules]
    lines += ["", *_source(known.source)]
    return "\n".join(lines)


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 96)
