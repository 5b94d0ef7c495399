"""The variables that a compose file sets for its services, with the lines on which they stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from packager.facts.shell_text import Value, hands_to_a_shell, shell_values, words_of

MAX_SIZE = 256 << 10
_MAX_DEPTH = 64
_COMMANDS = ("command", "entrypoint", "test")
_ENV_FILE = ("env_file", "path")


class NoCompose(Exception):
    """The text is no YAML, or nested deeper than any compose file."""


def compose_values(text: str, names: tuple[str, ...]) -> Iterator[tuple[int, str, Value]]:
    """Line, name and value of each assignment to one of the names. Raises NoCompose."""
    for line, key, before, value in _scalars(text):
        if key in names:
            yield line, key, Value(value, quoted=True)
        elif key in _COMMANDS:
            for code in _shell_code(before, value):
                for number, part in enumerate(code.split("\n")):
                    for name, said in shell_values(part, names):
                        yield line + number, name, said
        else:
            name, equals, said_value = value.partition("=")
            if equals and name in names:
                yield line, name, Value(said_value, quoted=True)


def compose_files(text: str) -> Iterator[str]:
    """The files of environments that it names. Raises NoCompose."""
    return (value for _, key, _, value in _scalars(text) if key in _ENV_FILE)


def _shell_code(before: str, value: str) -> Iterator[str]:
    """What a shell runs of a command: one word of a list, behind `-c`, or a text that is split into words."""
    words = [value] if before else words_of(value)
    for last, word in zip([before, *words], words, strict=False):
        if hands_to_a_shell(last):
            yield word.replace("$$", "$")


def _scalars(text: str) -> Iterator[tuple[int, str, str, str]]:
    """Each text: its line, the key that it is a value of, the item before it in a list, and itself."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    open_ones: list[_Open] = [_Open(key="", mapping=False)]
    try:
        for event in yaml.parse(text, Loader=loader):
            innermost = open_ones[-1]
            if isinstance(event, yaml.CollectionStartEvent):
                if len(open_ones) > _MAX_DEPTH:
                    raise NoCompose("it is nested too deep")
                open_ones.append(_Open(innermost.key, isinstance(event, yaml.MappingStartEvent)))
            elif isinstance(event, yaml.CollectionEndEvent):
                open_ones.pop()
                open_ones[-1].has_value()
            elif isinstance(event, yaml.AliasEvent):
                innermost.has_value()
            elif isinstance(event, yaml.ScalarEvent):
                if innermost.wants_key:
                    innermost.key, innermost.wants_key = event.value, False
                    continue
                block = event.style in ("|", ">")
                yield event.start_mark.line + 1 + block, innermost.key, innermost.before, event.value
                innermost.before = event.value
                innermost.has_value()
    except yaml.YAMLError as error:
        raise NoCompose(str(error).partition("\n")[0]) from None
    except (ValueError, OverflowError):
        raise NoCompose("it has an escape that stands for nothing") from None


class _Open:
    """A mapping or list that has begun. The key of a list is that of the mapping that it is a value of."""

    def __init__(self, key: str, mapping: bool) -> None:
        self.key, self.mapping, self.wants_key, self.before = key, mapping, mapping, ""

    def has_value(self) -> None:
        """A mapping has a key again after each value."""
        self.wants_key = self.mapping
