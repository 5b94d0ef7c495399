"""Complete cases without a finding, and small ways to spoil one thing in them.

The facts are those of QAIRT 2.51's real files, shortened; no file exists on disk.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from packager.bundle import BundleFile
from packager.catalog import Soc
from packager.facts.types import (
    CatalogueFacts,
    CatalogueMember,
    ContextFacts,
    DamagedFacts,
    ElfFacts,
    Facts,
    GraphFacts,
    OtherFacts,
    PeFacts,
    TensorFacts,
)
from packager.files import Blob
from packager.manifest_model import Input
from packager.manifest_samples import Reference
from packager.plan_model import TargetPlan, WantedFile
from packager.rules.core import Case, Examined, Finding, Proof, Stage, judge
from tests.make.bundle import target_plan

BUILD = "v2.51.0.260929181845"
OLDER_BUILD = "v2.48.0.260626120635"
SIGNER = "Microsoft Windows Hardware Compatibility Publisher"

TARGETS: dict[str, dict[str, Any]] = {
    "linux": {"socs": ("qcs9075",), "abi": "oe-linux-gcc11.2", "formats": ("tar.zst", "deb")},
    "windows": {"socs": ("x-elite",), "abi": "windows-arm64", "formats": ("zip",)},
    "simulator": {"socs": ("sm8650",), "abi": "x86_64-linux-clang", "formats": ("tar.zst",)},
}


def sound_case(kind: str = "linux", **settings: Any) -> Case:
    """A complete case that no rule has anything to say about; `settings` go to `target_plan`."""
    plan = target_plan(**(TARGETS[kind] | settings))
    model = plan.model.model_copy(
        update={
            "inputs": {"x": Input(shape=(1, 3, 48, 48), dtype="float32")},
            "reference": Reference(inputs="samples/*.npy", min_cosine=0.99, seconds=600),
        }
    )
    plan = plan.model_copy(update={"model": model})
    files = [_runner(plan)]
    files += [_vendor(plan, wanted) for wanted in plan.runtime_set.files]
    files += [_licence(path) for path in plan.runtime_set.licences]
    files += [_context(plan, soc) for soc in plan.socs]
    proofs = tuple(
        Proof(soc=soc.id, output="y", cosine=0.9999, max_abs=0.001, samples=4) for soc in plan.socs
    )
    return Case(plan=plan, files=tuple(files), proofs=proofs)


def staged(
    path: str, role: str, facts: Facts, *, arch: int | None = None, soc: str | None = None
) -> Examined:
    """A file of a case. Its digest is made of its path."""
    file = BundleFile(
        path=path,
        role=role,
        blob=Blob(sha256=digest_of(path), size=1000),
        local=Path(path),
        arch=arch,
        soc=soc,
    )
    return Examined(file=file, facts=facts)


def digest_of(path: str) -> str:
    """The invented sha256 of the file at a path."""
    return path.encode().hex().ljust(64, "0")[-64:]


def _runner(plan: TargetPlan) -> Examined:
    if plan.system == "windows":
        return staged("hexrun.exe", "runner", PeFacts(machine="ARM64", imports=("KERNEL32.dll",)))
    return staged("bin/hexrun", "runner", _host(plan, "hexrun", None))


def _licence(path: str) -> Examined:
    return staged(f"licenses/{path.rpartition('/')[2]}", "licence", OtherFacts())


def _vendor(plan: TargetPlan, wanted: WantedFile) -> Examined:
    folder = "" if plan.system == "windows" else f"{wanted.folder}/"
    path = f"{folder}{wanted.name}"
    facts: Facts
    if wanted.role == "catalogue":
        skel = f"{folder}libQnnHtpV{wanted.arch}Skel.so"
        member = CatalogueMember(name=skel.lower(), sha256=digest_of(skel))
        facts = CatalogueFacts(members=(member,), signer=SIGNER, chain=(SIGNER,), signature_valid=True)
    elif wanted.role == "skel":
        facts = skel_facts(wanted.arch or 0)
    elif plan.system == "windows":
        facts = PeFacts(
            machine="ARM64",
            imports=("KERNEL32.dll", "api-ms-win-crt-heap-l1-1-0.dll"),
            signer="QUALCOMM Technologies Inc.",
            signature_valid=True,
            qairt_build=BUILD,
            qairt_release="2.51.0",
        )
    else:
        facts = _host(plan, wanted.name, None if wanted.role == "system" else BUILD)
    return staged(path, wanted.role, facts, arch=wanted.arch)


def _host(plan: TargetPlan, name: str, build: str | None) -> ElfFacts:
    return ElfFacts(
        machine=plan.abi.machine,
        bits=64,
        abi="glibc",
        flags=0,
        soname=name,
        needed=("libstdc++.so.6", "libc.so.6", *(("libcdsprpc.so",) if "Stub" in name else ())),
        search_path=("$ORIGIN",),
        qairt_build=build,
        qairt_release="2.51.0" if build else None,
        qairt_stamp=BUILD.rpartition(".")[2] if name == "libQnnSystem.so" else None,
        glibc_needed="2.34",
        glibcxx_needed="3.4.29",
        cxxabi_needed="1.3.13",
    )


def skel_facts(arch: int, build: str | None = BUILD, release: str | None = "2.51.0") -> ElfFacts:
    """A skel of a Hexagon architecture and a QAIRT release."""
    return ElfFacts(
        machine="HEXAGON",
        bits=32,
        abi="hexagon",
        flags=int(str(arch), 16),
        hexagon_arch=arch,
        soname=f"libQnnHtpV{arch}Skel.so",
        needed=("libc++.so.1", "libc++abi.so.1"),
        skel_release=release,
        qairt_build=build,
        qairt_release=release,
    )


def _context(plan: TargetPlan, soc: Soc) -> Examined:
    tensor = TensorFacts(name="x", dtype="float32", shape=(1, 3, 48, 48))
    output = TensorFacts(name="y", dtype="float32", shape=(1, 2))
    # With no amount of VTCM asked for, the compiler records 4 MB whatever the SoC has.
    graph = GraphFacts(
        name="g",
        inputs=(tensor,),
        outputs=(output,),
        optimization=plan.optimization,
        vtcm_mb=plan.vtcm_mb or 4,
    )
    facts = ContextFacts(
        authority="libQnnSystem",
        backend_id=6,
        qairt_build=BUILD,
        core_api="2.40.0",
        backend_api="5.51.0",
        blob_version="4.0.6",
        soc_model=soc.soc_model,
        hexagon_arch=soc.hexagon,
        graphs=(graph,),
    )
    return staged(f"share/models/{soc.id}.bin", "context", facts, arch=soc.hexagon, soc=soc.id)


def findings(case: Case) -> tuple[Finding, ...]:
    """What all rules say, of both stages."""
    return judge(case, Stage.PLAN) + judge(case, Stage.FILES)


def facts_of(case: Case, path: str) -> Any:
    """The facts of the file at a path."""
    (examined,) = (examined for examined in case.files if examined.file.path == path)
    return examined.facts


def with_facts(case: Case, path: str, facts: Facts | None = None, **changes: Any) -> Case:
    """The case with other facts for one file: entirely, or some fields of them."""
    new = facts or facts_of(case, path).model_copy(update=changes)
    files = (e if e.file.path != path else Examined(file=e.file, facts=new) for e in case.files)
    return case.model_copy(update={"files": tuple(files)})


def damaged(case: Case, path: str) -> Case:
    """The case with one file that ends early."""
    return with_facts(case, path, DamagedFacts(offset=4096, reason="the section table is missing"))


def without(case: Case, path: str) -> Case:
    """The case without one file."""
    assert any(e.file.path == path for e in case.files)
    return case.model_copy(update={"files": tuple(e for e in case.files if e.file.path != path)})


def with_file(case: Case, examined: Examined) -> Case:
    """The case with one more file."""
    return case.model_copy(update={"files": (*case.files, examined)})


def with_plan(case: Case, **changes: Any) -> Case:
    """The case with some fields of its plan changed, and nothing else."""
    return case.model_copy(update={"plan": case.plan.model_copy(update=changes)})


def with_graph(case: Case, path: str, **changes: Any) -> Case:
    """The case with fields of a context's only graph changed."""
    (graph,) = facts_of(case, path).graphs
    return with_facts(case, path, graphs=(graph.model_copy(update=changes),))
