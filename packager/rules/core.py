"""What a rule is, what it sees, and what it says."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import NamedTuple, TypeVar

from pydantic import Field

from packager.bundle import BundleFile, BundleLink
from packager.facts.base_image import BaseImageFacts
from packager.facts.types import ContextFacts, DamagedFacts, Facts, OnnxFacts
from packager.manifest_model import Allow
from packager.model import Frozen
from packager.plan_model import TargetPlan
from packager.rules.table import texts

F = TypeVar("F")

CONCERNS = (
    "releases", "libraries", "dependencies", "drivers", "systems", "android", "linux", "qnx", "silicon",
    "models", "assets", "contexts", "configuration", "search_paths", "packages", "images", "provenance",
)  # fmt: skip

UNUSED_ALLOW = "HEX601"  # not a registered rule: only `allowed` knows which entries were of use


class Severity(StrEnum):
    """An error stops the package unless it is allowed; a warning never does."""

    ERROR = "error"
    WARNING = "warning"


class Stage(StrEnum):
    """When a rule can speak: `plan` needs no file, `model` the source model, `files` the staged tree."""

    PLAN = "plan"
    MODEL = "model"
    FILES = "files"


class Finding(Frozen):
    """One fault, with evidence and the way out. `allowed` is the manifest's reason, if it has one."""

    rule: str
    severity: Severity
    target: str
    title: str
    file: str
    found: str
    wanted: str
    fix: str
    on_device: str = ""
    allowed: str | None = None

    @property
    def refuses(self) -> bool:
        """Whether this finding stops the package."""
        return self.severity is Severity.ERROR and self.allowed is None


class Said(NamedTuple):
    """What a rule yields; id, severity, title and symptom are added from its registration and table.

    `fault` chooses the words where the rule's row has several. What is `absent` may lie in a folder that
    could not be looked into: then nothing is said of it.
    """

    file: str
    found: str
    wanted: str
    fix: str
    fault: str = ""
    absent: bool = False


class Examined(Frozen):
    """A staged file together with what its bytes say."""

    file: BundleFile
    facts: Facts


class Proof(Frozen):
    """One model output compared with the reference. `cosine` over all samples, `max_abs` the worst.

    `top1` is the share of rows whose largest number is in the same place; `quantized` the cosine of the
    quantized model before it was compiled, where it was quantized here.
    """

    soc: str
    output: str
    cosine: float
    max_abs: float
    samples: int
    top1: float | None = None
    quantized: float | None = None


class Asked(Frozen):
    """What the compiler was asked for, for one SoC: tensor names to shapes, None for an open dimension.

    `dtypes` are QNN's element types of inputs and outputs that have to be quantized; `hvx_threads` 0 leaves
    their number to the backend. With `split`, the graphs of the context are parts of the model. `unproved`
    says why samples were not run on the simulator.
    """

    soc: str
    optimization: int
    vtcm_mb: int | None
    inputs: dict[str, tuple[int | None, ...]]
    outputs: dict[str, tuple[int | None, ...]]
    dtypes: dict[str, str] = Field(default_factory=dict)
    hvx_threads: int = 0
    split: bool = False
    unproved: str | None = None


class Case(Frozen):
    """Everything that rules may look at for one target.

    `model` is the source model, where it is an ONNX file. In an `inferred` case the plan was read off files
    that somebody else made: it says what they are for, and wishes nothing. `base` is what a container image
    is built on, where there is to be one.
    """

    plan: TargetPlan
    files: tuple[Examined, ...] = ()
    links: tuple[BundleLink, ...] = ()
    model: OnnxFacts | None = None
    inferred: bool = False
    proofs: tuple[Proof, ...] = ()
    asked: tuple[Asked, ...] = ()
    base: BaseImageFacts | None = None

    @property
    def incomplete(self) -> bool:
        """Whether a folder could not be looked into, so that nobody knows what is missing."""
        return any(isinstance(e.facts, DamagedFacts) and e.facts.fault == "closed" for e in self.files)

    def one(self, role: str, arch: int | None = None) -> Examined | None:
        """The file of this role (and Hexagon arch), readable or not; None when there is none."""
        return next((e for e in self.files if e.file.role == role and e.file.arch == arch), None)

    def of_kind(self, kind: type[F]) -> Iterator[tuple[BundleFile, F]]:
        """The files whose facts are of a kind."""
        for examined in self.files:
            if isinstance(examined.facts, kind):
                yield examined.file, examined.facts

    def contexts(self) -> Iterator[tuple[Examined, ContextFacts]]:
        """Context binaries with their facts."""
        for examined in self.files:
            if isinstance(examined.facts, ContextFacts):
                yield examined, examined.facts


class Rule(NamedTuple):
    """A registered rule. One that judges a `wish` compares with what somebody asked for."""

    id: str
    severity: Severity
    stage: Stage
    wish: bool
    judge: Callable[[Case], Iterable[Said]]


_RULES: dict[str, Rule] = {}


def rule(
    name: str,
    *,
    severity: Severity,
    stage: Stage = Stage.FILES,
    wish: bool = False,
) -> Callable[[Callable[[Case], Iterable[Said]]], Callable[[Case], Iterable[Said]]]:
    """Register a rule under its id. Its words are in `targets/rules/`.

    A rule that compares with a wish of the manifest (`wish`) is silent where there is no manifest.
    """

    def register(judge: Callable[[Case], Iterable[Said]]) -> Callable[[Case], Iterable[Said]]:
        if name in _RULES and _RULES[name].judge.__qualname__ != judge.__qualname__:
            raise ValueError(f"two rules called {name}")
        _RULES[name] = Rule(name, severity, stage, wish, judge)
        return judge

    return register


def all_rules() -> dict[str, Rule]:
    """Every rule by id; imports the concern modules on first use."""
    for concern in CONCERNS:
        importlib.import_module(f"packager.rules.{concern}")
    return dict(sorted(_RULES.items()))


def judge(case: Case, stage: Stage) -> tuple[Finding, ...]:
    """All findings of the rules of one stage, in the order of rule ids."""
    return tuple(
        _finding(r, case, said)
        for r in all_rules().values()
        if r.stage is stage and not (r.wish and case.inferred)
        for said in r.judge(case)
        if not (said.absent and case.incomplete)
    )


def _finding(rule: Rule, case: Case, said: Said) -> Finding:
    title, on_device = texts()[rule.id].of(said.fault)
    return Finding(
        rule=rule.id,
        severity=rule.severity,
        target=case.plan.label,
        title=title,
        file=said.file,
        found=said.found,
        wanted=said.wanted,
        fix=said.fix,
        on_device=on_device,
    )


def allowed(
    findings: Iterable[Finding], allow: Iterable[Allow], *, report_unused: bool = True
) -> tuple[Finding, ...]:
    """The findings with the manifest's reasons attached, and one more for every reason that fits none."""
    entries = list(allow)
    used: set[int] = set()
    result = []
    for finding in findings:
        reason = None
        for index, entry in enumerate(entries):
            if entry.rule == finding.rule and entry.target in (None, finding.target):
                reason = entry.reason
                used.add(index)
        result.append(finding.model_copy(update={"allowed": reason}))
    for index, entry in enumerate(entries):
        if report_unused and index not in used:
            result.append(
                Finding(
                    rule=UNUSED_ALLOW,
                    severity=Severity.WARNING,
                    target=entry.target or "",
                    title=texts()[UNUSED_ALLOW].title,
                    file="manifest",
                    found=f"[[allow]] {entry.rule}",
                    wanted="a finding that it allows",
                    fix="remove the entry",
                )
            )
    return tuple(result)
