"""`inspect`, `audit`, `socs`, `explain`, `schema`: what hexpack knows, and what files say of themselves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from invoke.context import Context
from invoke.exceptions import Exit

from packager.commands.streams import input_lines, nobody_reads, print_json
from packager.commands.support import FilesTask, SubjectTask, WordsTask, command
from packager.errors import InputUnavailable, ManifestError, RuleRefused, nearest
from packager.visible import visible_lines

if TYPE_CHECKING:
    from packager.inference import Asks
    from packager.inspection import Inspected


@command(klass=FilesTask, help={"json": "print one JSON document on stdout"})
def inspect(_: Context, words: tuple[str, ...], json: bool = False) -> None:
    """The facts of any library, context, catalogue, model or package, with what is inside: inspect FILE…"""
    from packager.inspection import document, files_below, inspected, print_inspected
    from packager.progress import Waiting

    paths = files_below(Path(word) for word in words)

    def read(path: Path) -> Inspected:
        with Waiting(f"reading {path}"):
            return inspected(path)

    files = map(read, paths)
    if json:
        print_json(document(files))
        return
    for file in files:
        print_inspected(file)
        if nobody_reads():
            break


@command(
    klass=FilesTask,
    help={
        "soc": "SoCs that it is meant for, with commas; absent: those that the files name",
        "abi": "ABI of the system that it is meant for, as in a manifest",
        "json": "print one JSON document on stdout",
    },
)
def audit(
    _: Context, words: tuple[str, ...], soc: str | None = None, abi: str | None = None, json: bool = False
) -> None:
    """Judge packages, archives, folders or SDKs that hexpack did not make: audit FILE…"""
    from packager.audit import audit as audit_one
    from packager.audit_report import print_audit
    from packager.progress import Waiting

    asks = _asks(soc, abi)
    audits = []
    for word in words:
        with Waiting(f"reading {word}"):
            audits.append(audit_one(Path(word), asks))
        if not json:
            print_audit(audits[-1])
    if json:
        documents = [one.model_dump(mode="json") for one in audits]
        print_json({"schema_version": 1, "audits": documents})
    if any(one.refused for one in audits):
        raise Exit(code=RuleRefused.exit_code)
    if not all(one.judged for one in audits):
        raise Exit(code=InputUnavailable.exit_code)  # a pipeline that audits the wrong file must not go on


def _asks(soc: str | None, abi: str | None) -> Asks:
    from packager import catalog
    from packager.inference import Asks

    known = catalog.abi(abi) if abi else None
    if abi and known is None:
        close = nearest(abi, [name for row in catalog.abis().values() for name in (row.id, *row.aliases)])
        raise ManifestError(
            f'unknown ABI "{abi}"',
            evidence=(f'did you mean "{close}"?',) if close else (),
            fix=f"one of {', '.join(catalog.abis())}",
        )
    return Asks(
        socs=tuple(catalog.soc(word.strip()) for word in (soc or "").split(",") if word.strip()), abi=known
    )


@command(klass=WordsTask, help={"json": "print one JSON document on stdout"})
def socs(_: Context, words: tuple[str, ...], json: bool = False) -> None:
    """The SoC table, or the rows that match: socs [WORD]."""
    from packager import catalog
    from packager.report import add, show, table

    word = " ".join(words)
    found = catalog.find_socs(word) if word else catalog.socs()
    if not found:
        close = nearest(word, [soc.id for soc in catalog.socs()])
        raise ManifestError(
            f'no SoC matches "{word}"',
            evidence=(f'did you mean "{close}"?',) if close else (),
            fix="`hexpack socs` lists all",
        )
    if json:
        print_json({"schema_version": 1, "socs": [soc.model_dump(mode="json") for soc in found]})
        return
    known = {True: "yes", False: "no", None: "?"}
    rows = table("id", "soc_model", "arch", "VTCM", "float", "names", right=("soc_model", "VTCM"))
    for soc in found:
        add(
            rows,
            soc.id,
            str(soc.soc_model),
            soc.arch,
            f"{soc.vtcm_mb} MB" if soc.vtcm_mb else "-",
            known[soc.fp16],
            ", ".join(dict.fromkeys((*soc.names, *soc.chips))),
        )
    show(rows)


@command(klass=SubjectTask, help={"json": "print one JSON document on stdout"})
def explain(_: Context, words: tuple[str, ...], json: bool = False) -> None:
    """Rules, error codes or lines of a device log: cause, where to look, the cure: explain WORD… or -"""
    from packager.explanation import explain as explain_words
    from packager.explanation import explain_log, text_of

    answers = explain_log(input_lines()) if words == ("-",) else explain_words(words)
    if not any(answer.pages for answer in answers):
        what, *evidence = [answer.unknown for answer in answers] or ["no line of the log is known"]
        raise ManifestError(
            what,
            evidence=evidence,
            fix="give a rule id such as HEX104, a code as the log prints it (1008, 0x36B1, 0x80000406,"
            " transportStatus 9), its name (AEE_EUNABLETOLOAD), or a line of the log; - is a log on stdin",
        )
    if json:
        print_json({"schema_version": 1, "answers": [answer.model_dump(mode="json") for answer in answers]})
        return
    rule = f"\n\n{'-' * 40}\n\n"
    print(visible_lines(rule.join(text_of(answer) for answer in answers)))


@command()
def schema(_: Context) -> None:
    """The JSON Schema of the manifest, for editors and CI."""
    from packager.manifest import schema as manifest_schema

    print_json(manifest_schema())


TASKS = (inspect, audit, socs, explain, schema)
