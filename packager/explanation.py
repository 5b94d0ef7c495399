"""`explain`: what is known of rules, error codes and log lines, from the tables that rules and runner use."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from typing import Literal

from packager.decoder import Explanation, explain_code, why_unknown
from packager.log_lines import Phrase, told_in
from packager.model import Frozen
from packager.rules.core import Severity, all_rules
from packager.rules.table import seen_at, texts

_MOST_PLACES = 6
_LONGEST_QUOTE = 300
_RULE = re.compile(r"\bHEX\d{3}\b", re.IGNORECASE)
_EDGES = " \t,.;:!?()[]{}\"'`"


class Page(Frozen):
    """What is known of one thing. `said` is what it was called in the question or the log.

    `title` is its id or code with its name, or the phrase of the table. `codes` come with a phrase, `rules`
    prevent it before the device, `seen_at` are public threads.
    """

    kind: Literal["rule", "code", "log line"]
    said: str
    title: str
    text: str
    on_device: str = ""
    look_first: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    source: str
    seen_at: tuple[str, ...] = ()


class Answer(Frozen):
    """All that is known of one subject: a word, or a line. `unknown` says why nothing is.

    `line` is the number of a log's line, the first of `times` that tell the same.
    """

    subject: str
    line: int | None = None
    times: int = 1
    pages: tuple[Page, ...] = ()
    unknown: str = ""


def explain(words: Iterable[str]) -> tuple[Answer, ...]:
    """An answer for each subject: a rule's id, a code, or words that belong together, as in a log line."""
    return tuple(_answer(subject) for subject in _subjects(words))


def explain_log(lines: Iterable[str]) -> tuple[Answer, ...]:
    """An answer for each line that tells something which none before it told."""
    answers: list[Answer] = []
    known: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        pages = tuple(_pages(line, asked=False))
        for index in {known[page.title] for page in pages if page.title in known}:
            answers[index] = answers[index].model_copy(update={"times": answers[index].times + 1})
        if new := tuple(page for page in pages if page.title not in known):
            known |= {page.title: len(answers) for page in new}
            answers.append(Answer(subject=line.strip()[:_LONGEST_QUOTE], line=number, pages=new))
    return tuple(answers)


def _subjects(words: Iterable[str]) -> Iterator[str]:
    """Words that stand for themselves, and runs of others, to which the numbers behind them belong."""
    run: list[str] = []
    for word in words:
        whole = len(word.split()) > 1 or _RULE.fullmatch(word)
        if not whole and (run or not _stands_alone(word)):
            run.append(word)
            continue
        if run:
            yield " ".join(run)
            run = []
        yield word
    if run:
        yield " ".join(run)


def _stands_alone(word: str) -> bool:
    bare = word.strip(_EDGES)
    return bool(_RULE.fullmatch(bare) or explain_code(bare) or why_unknown(bare))


def _answer(subject: str) -> Answer:
    bare = subject.strip(_EDGES)
    if code := explain_code(bare):
        return Answer(subject=subject, pages=(_code_page(bare, code),))
    if pages := tuple(_pages(subject, asked=True)):
        return Answer(subject=subject, pages=pages)
    return Answer(subject=subject, unknown=why_unknown(bare) or f'nothing is known about "{subject}"')


def _pages(line: str, *, asked: bool) -> Iterator[Page]:
    for rule_id in dict.fromkeys(found[0].upper() for found in _RULE.finditer(line)):
        if rule_id in texts():
            yield _rule_page(rule_id)
    for told in told_in(line, asked=asked):
        if isinstance(told.about, Phrase):
            yield _phrase_page(told.said, told.about)
        else:
            yield _code_page(told.said, told.about)


def _rule_page(rule_id: str) -> Page:
    text = texts()[rule_id]
    registered = all_rules().get(rule_id)
    severity = registered.severity if registered else Severity.WARNING  # HEX601 is judged without a rule
    return Page(
        kind="rule",
        said=rule_id,
        title=f"{rule_id}  {text.title}  ({severity})",
        text=text.explanation,
        on_device=text.on_device,
        source=text.source,
        seen_at=seen_at(text.source),
    )


def _phrase_page(said: str, phrase: Phrase) -> Page:
    return Page(
        kind="log line",
        said=said,
        title=f'"{phrase.words}"'.replace("*", "…"),
        text=phrase.sentence,
        look_first=phrase.look_first,
        codes=tuple(_title(code) for word in phrase.codes if (code := explain_code(word))),
        rules=phrase.rules,
        source=phrase.source,
        seen_at=seen_at(phrase.source),
    )


def _code_page(said: str, code: Explanation) -> Page:
    masked = f". It is in the low 16 bits of {said}, the 64 bits that a function of QNN returned"
    return Page(
        kind="code",
        said=said,
        title=_title(code),
        text=code.sentence + (masked if code.masked else ""),
        look_first=code.look_first,
        rules=code.rules,
        source=code.source,
        seen_at=seen_at(code.source),
    )


def _title(code: Explanation) -> str:
    return f"{code.text}  {code.name}"


def text_of(answer: Answer) -> str:
    """An answer for a person."""
    blocks = ["\n".join(_page_lines(page)) for page in answer.pages] or [_wrapped(answer.unknown)]
    if answer.line is not None:
        times = f", and {answer.times - 1} more like it" if answer.times > 1 else ""
        blocks.insert(0, f"line {answer.line}{times}: {answer.subject}")
    return "\n\n".join(blocks)


def _page_lines(page: Page) -> Iterator[str]:
    yield from (page.title, "", _wrapped(page.text))
    if page.on_device:
        yield from ("", _wrapped(f"On the device: {page.on_device}"))
    if page.look_first:
        yield from ("", "Look first at:", *(f"  * {line}" for line in page.look_first))
    if page.codes:
        yield from ("", "It comes with:", *(f"  {code}" for code in page.codes))
    if page.rules:
        yield from ("", "Caught before the device by:")
        yield from (f"  {rule_id}  {texts()[rule_id].title}" for rule_id in page.rules)
    yield from ("", _wrapped(f"Source: {page.source}"))
    if page.seen_at:
        more = len(page.seen_at) - _MOST_PLACES
        places = ", ".join(page.seen_at[:_MOST_PLACES]) + (f" and {more} more" if more > 0 else "")
        yield _wrapped(f"Seen at: {places}")
    if page.kind == "rule":
        yield from ("", _wrapped(_allow_hint(page.said)))


def _allow_hint(rule_id: str) -> str:
    return (
        f'To accept it on purpose: [[allow]] rule = "{rule_id}", target = "…", reason = "…" in the manifest.'
    )


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 96)
