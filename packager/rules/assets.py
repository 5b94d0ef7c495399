"""Model assets: a context binary for the right SoC, of a release that the runtime can read, as asked for.

Where one context could break several rules at once, the first of HEX310, HEX302, HEX303, HEX321, HEX314
speaks and the others are silent; HEX305 looks only at contexts that HEX302 and HEX303 accept. Of HEX304 and
HEX319 the first speaks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from packager.bundle import BundleFile
from packager.catalog import Soc
from packager.facts.types import ContextFacts, GraphFacts
from packager.plan_model import TargetPlan
from packager.rules.capabilities import unreadable_blob
from packager.rules.core import Case, Said, Severity, rule
from packager.rules.reading import newer, on_npu, soc_of
from packager.rules.table import number, word

Shapes = Mapping[str, tuple[int | None, ...]]


def _contexts(case: Case) -> Iterator[tuple[BundleFile, ContextFacts, Soc]]:
    """HTP context binaries and the SoC that each is for."""
    for examined, facts in case.contexts():
        soc = soc_of(case.plan, examined.file)
        if soc is not None and facts.backend_id == number("HEX310", "backend_id"):
            yield examined.file, facts, soc


def _too_new_for(soc: Soc, facts: ContextFacts) -> bool:
    return bool(facts.hexagon_arch and soc.hexagon and facts.hexagon_arch > soc.hexagon)


def _older_than(soc: Soc, facts: ContextFacts) -> bool:
    return bool(facts.hexagon_arch and soc.hexagon and facts.hexagon_arch < soc.hexagon)


def _names_no_soc(facts: ContextFacts) -> bool:
    """Whether a compiler that writes the SoC into its files was not told one."""
    since = word("HEX303", "soc_model_since")
    return not facts.soc_model and facts.qairt_build is not None and not newer(since, facts.qairt_build)


def _for_another(soc: Soc, facts: ContextFacts) -> bool:
    """Whether a context of a fitting architecture is certainly not for this SoC."""
    if _names_no_soc(facts):
        return True
    known = facts.soc_model not in (None, 0)
    return known and not _older_than(soc, facts) and facts.soc_model not in (soc.soc_model, *soc.accepts)


def _tolerated(plan: TargetPlan, soc: Soc, facts: ContextFacts) -> bool:
    """Whether a context for another SoC of the same architecture is the manifest's own risk."""
    same_arch = facts.hexagon_arch is not None and facts.hexagon_arch == soc.hexagon
    return plan.compatibility == "permissive" and same_arch and not _names_no_soc(facts)


def _refused(plan: TargetPlan, soc: Soc, facts: ContextFacts) -> bool:
    return _for_another(soc, facts) and not _tolerated(plan, soc, facts)


def _fits(plan: TargetPlan, soc: Soc, facts: ContextFacts) -> bool:
    return not _too_new_for(soc, facts) and not _refused(plan, soc, facts)


def _compile_again(soc: Soc) -> str:
    return f"compile the model for {soc.id} (soc_model {soc.soc_model}, Hexagon {soc.arch})"


def _of_another_arch(file: BundleFile, facts: ContextFacts, soc: Soc) -> Said:
    return Said(
        file=file.path,
        found=f"compiled for Hexagon v{facts.hexagon_arch}",
        wanted=f"{soc.arch}, as {soc.id} has",
        fix=_compile_again(soc),
    )


@rule("HEX302", severity=Severity.ERROR)
def context_not_newer_than_its_dsp(case: Case) -> Iterable[Said]:
    """The device refuses code for a later Hexagon."""
    for file, facts, soc in _contexts(case):
        if _too_new_for(soc, facts):
            yield _of_another_arch(file, facts, soc)


def _of_another_soc(file: BundleFile, facts: ContextFacts, soc: Soc) -> Said:
    arch = f"v{facts.hexagon_arch}" if facts.hexagon_arch else "an unknown Hexagon"
    named = f"soc_model {facts.soc_model}" if facts.soc_model else "no SoC"
    return Said(
        file=file.path,
        found=f"compiled for {named}, {arch}",
        wanted=f"soc_model {' or '.join(map(str, (soc.soc_model, *soc.accepts)))}, {soc.arch}",
        fix=_compile_again(soc),
    )


@rule("HEX303", severity=Severity.ERROR)
def context_for_its_soc(case: Case) -> Iterable[Said]:
    """One architecture is not one SoC."""
    for file, facts, soc in _contexts(case):
        if _refused(case.plan, soc, facts) and not _too_new_for(soc, facts):
            yield _of_another_soc(file, facts, soc)


@rule("HEX321", severity=Severity.WARNING)
def context_for_a_sibling_of_its_soc(case: Case) -> Iterable[Said]:
    """What HEX303 refuses, where the manifest asks to be permissive."""
    for file, facts, soc in _contexts(case):
        if _for_another(soc, facts) and _tolerated(case.plan, soc, facts):
            yield _of_another_soc(file, facts, soc)


def _newer_than_the_runtime(plan: TargetPlan, facts: ContextFacts) -> tuple[str, str] | None:
    """(found, wanted) by the build id, else by the version of the backend's API, which devices compare."""
    release = plan.runtime_set.release
    if facts.qairt_build is not None and newer(facts.qairt_build, release.version):
        return facts.qairt_build, release.version
    if newer(facts.backend_api, release.backend_api):
        return f"backend API {facts.backend_api}", release.backend_api
    return None


@rule("HEX304", severity=Severity.ERROR)
def context_not_newer_than_the_runtime(case: Case) -> Iterable[Said]:
    """A runtime reads contexts of its own and of earlier releases."""
    release = case.plan.runtime_set.release.version
    for file, facts, _ in _contexts(case):
        newer_one = _newer_than_the_runtime(case.plan, facts)
        if newer_one is not None:
            found, wanted = newer_one
            later = unreadable_blob(facts.blob_version, release)
            yield Said(
                file=file.path,
                found=f"compiled with {found}{f', context blob {facts.blob_version}' if later else ''}",
                wanted=f"{wanted} or earlier, the runtime in this package",
                fix=f"compile with QAIRT {release}, or ship the libraries of the newer release",
            )


@rule("HEX319", severity=Severity.WARNING)
def blob_of_a_known_format(case: Case) -> Iterable[Said]:
    """The format has a version of its own, which grows with the releases."""
    release = case.plan.runtime_set.release.version
    for file, facts, _ in _contexts(case):
        readable = unreadable_blob(facts.blob_version, release)
        if readable and _newer_than_the_runtime(case.plan, facts) is None:
            by = facts.qairt_build or f"backend API {facts.backend_api}"
            yield Said(
                file=file.path,
                found=f"context blob {facts.blob_version}, in a file that says it is of {by}",
                wanted=f"{readable}, which QAIRT {release} reads",
                fix="fetch or compile the file again; what it says about itself does not fit together",
            )


def _beyond_vtcm(case: Case) -> Iterator[tuple[BundleFile, Soc, GraphFacts]]:
    """Graphs that record more VTCM than there is. What is recorded when none was asked proves nothing."""
    fixed = number("HEX305", "recorded_when_not_asked_mb")
    for file, facts, soc in _contexts(case):
        if soc.vtcm_mb is None or not _fits(case.plan, soc, facts) or case.plan.vtcm_mb:
            continue
        for graph in facts.graphs:
            if graph.vtcm_mb and graph.vtcm_mb != fixed and graph.vtcm_mb > soc.vtcm_mb:
                yield file, soc, graph


def _perhaps_not_asked(graph: GraphFacts) -> bool:
    """Whether a board that is asked for nothing records this; elsewhere the threads are 0 then."""
    return graph.vtcm_mb == number("HEX337", "recorded_by_boards_mb") and bool(graph.hvx_threads)


@rule("HEX305", severity=Severity.ERROR)
def context_fits_the_vtcm(case: Case) -> Iterable[Said]:
    """A graph prepared for more VTCM than there is cannot be loaded."""
    for file, soc, graph in _beyond_vtcm(case):
        if not _perhaps_not_asked(graph):
            yield Said(
                file=file.path,
                found=f"graph {graph.name} asks for {graph.vtcm_mb:g} MB of VTCM",
                wanted=f"at most {soc.vtcm_mb} MB, as {soc.id} has",
                fix=_compile_again(soc),
            )


@rule("HEX337", severity=Severity.WARNING)
def context_may_not_fit_the_vtcm(case: Case) -> Iterable[Said]:
    """A board's own context, which runs there, cannot be told from one that was asked to be too large."""
    for file, soc, graph in _beyond_vtcm(case):
        if _perhaps_not_asked(graph):
            yield Said(
                file=file.path,
                found=f"graph {graph.name}: {graph.vtcm_mb:g} MB of VTCM, {graph.hvx_threads} HVX threads",
                wanted=f"at most {soc.vtcm_mb} MB, as {soc.id} has, or a context that its board compiled",
                fix=f"ask for {soc.vtcm_mb} MB when compiling, so that the file says what it needs",
            )


@rule("HEX306", severity=Severity.ERROR)
def context_has_the_declared_inputs(case: Case) -> Iterable[Said]:
    """What the manifest promises to the application is what the graph takes."""
    declared = case.plan.model.inputs
    if declared is None:
        return
    wanted = {name: tuple(spec.shape) for name, spec in declared.items()}
    compiled_here = {one.soc for one in case.asked}
    for examined, facts in case.contexts():
        if examined.file.soc in compiled_here:
            continue  # HEX317 knows all tensors of the model, not only those of the manifest
        taken = [{tensor.name: tensor.shape for tensor in graph.inputs} for graph in facts.graphs]
        if wanted not in taken:
            yield Said(
                file=examined.file.path,
                found=_signature(taken[0]) if taken else "no graph",
                wanted=f"{_signature(wanted)}, as [model] inputs says",
                fix="correct `inputs` in [model], or compile the model again",
            )


def _signature(tensors: Shapes) -> str:
    shapes = {
        name: "×".join("?" if size is None else str(size) for size in shape)
        for name, shape in tensors.items()
    }
    return ", ".join(f"{name} {shape}" for name, shape in sorted(shapes.items()))


@rule("HEX317", severity=Severity.ERROR)
def context_has_the_tensors_of_the_model(case: Case) -> Iterable[Said]:
    """The application finds inputs and outputs by the names of the model that was compiled."""
    asked = {one.soc: one for one in case.asked}
    for file, facts, soc in _contexts(case):
        if soc.id not in asked or asked[soc.id].split:
            continue
        wanted = (asked[soc.id].inputs, asked[soc.id].outputs)
        sides = [
            ({t.name: t.shape for t in g.inputs}, {t.name: t.shape for t in g.outputs}) for g in facts.graphs
        ]
        if not any(_agree(side, wanted) for side in sides):
            found = " → ".join(_signature(side) for side in sides[0]) if sides else "no graph"
            yield Said(
                file=file.path,
                found=found,
                wanted=" → ".join(_signature(side) for side in wanted),
                fix=_compile_again(soc),
            )


def _agree(found: tuple[Shapes, Shapes], wanted: tuple[Shapes, Shapes]) -> bool:
    """Whether inputs and outputs have the wanted names, and the wanted sizes where these are known."""
    return all(
        have.keys() == want.keys()
        and all(
            len(have[name]) == len(shape)
            and all(w in (None, h) for h, w in zip(have[name], shape, strict=True))
            for name, shape in want.items()
        )
        for have, want in zip(found, wanted, strict=True)
    )


@rule("HEX307", severity=Severity.ERROR)
def outputs_close_to_the_reference(case: Case) -> Iterable[Said]:
    """The compiled model computes what the original computes."""
    reference = case.plan.model.reference
    if reference is None:
        return
    for proof in case.proofs:
        if not proof.cosine >= reference.min_cosine:  # so that NaN is refused too
            yield Said(
                file=_context_name(case, proof.soc),
                found=f"output {proof.output}: cosine {proof.cosine:.9g} over {proof.samples} samples"
                f", largest difference {proof.max_abs:g}",
                wanted=f"cosine {reference.min_cosine:g} or more",
                fix="give more typical calibration data, or ask for a wider precision (w8a16, float)",
            )
        elif reference.min_top1 is not None and not (proof.top1 or 0.0) >= reference.min_top1:
            yield Said(
                file=_context_name(case, proof.soc),
                found=f"output {proof.output}: the largest number is in the same place in"
                f" {100 * (proof.top1 or 0.0):.4g} % of the rows of {proof.samples} samples",
                wanted=f"{100 * reference.min_top1:.4g} % or more",
                fix="give more typical calibration data, or ask for a wider precision (w8a16, float)",
            )


@rule("HEX316", severity=Severity.ERROR)
def a_proof_for_every_context(case: Case) -> Iterable[Said]:
    """A proof that was asked for and not made must not look like one that was passed."""
    if case.plan.model.reference is None or case.plan.runtime != "context-binary":
        return
    proved = {proof.soc for proof in case.proofs}
    reasons = {one.soc: one.unproved for one in case.asked if one.unproved}
    for file, _, soc in _contexts(case):
        if soc.id not in proved:
            yield Said(
                file=file.path,
                found=f"no output was compared: {reasons[soc.id]}"
                if soc.id in reasons
                else "no output was compared",
                wanted=f"a comparison on the simulator, as [model] reference asks for {soc.id}",
                fix="raise `seconds` under [model.reference], or give smaller samples"
                if soc.id in reasons
                else "package on Linux x86-64, where the simulator runs, or take `reference` out of [model]",
            )


def _context_name(case: Case, soc: str) -> str:
    for file, _, owner in _contexts(case):
        if owner.id == soc:
            return file.path
    return soc


@rule("HEX310", severity=Severity.ERROR)
def context_of_the_htp_backend(case: Case) -> Iterable[Said]:
    """Context binaries of the CPU or GPU backend look alike and do not load on the NPU."""
    wanted = number("HEX310", "backend_id")
    for examined, facts in case.contexts():
        if on_npu(case.plan) and facts.backend_id != wanted:
            yield Said(
                file=examined.file.path,
                found=f"written by backend {facts.backend_id}",
                wanted=f"backend {wanted}, the HTP",
                fix="compile the model with the HTP backend",
            )


@rule("HEX311", severity=Severity.ERROR, wish=True)
def one_context_per_soc(case: Case) -> Iterable[Said]:
    """The runner looks for exactly one context of the SoC that it finds itself on."""
    if case.plan.runtime != "context-binary":
        return
    for soc in case.plan.socs:
        paths = [
            e.file.path for e in case.files if e.file.role == "context" and soc_of(case.plan, e.file) == soc
        ]
        if len(paths) != 1:
            yield Said(
                file=paths[1] if paths else f"{soc.id}.bin",
                found=", ".join(paths) or "no context binary",
                wanted=f"one context binary for {soc.id}",
                fix=_compile_again(soc) if not paths else f"keep one of them for {soc.id}",
            )


@rule("HEX314", severity=Severity.WARNING)
def context_for_the_full_dsp(case: Case) -> Iterable[Said]:
    """Code for an earlier Hexagon runs, and leaves the newer one's instructions unused."""
    for file, facts, soc in _contexts(case):
        if _older_than(soc, facts) and not _for_another(soc, facts):
            yield _of_another_arch(file, facts, soc)


@rule("HEX315", severity=Severity.ERROR, wish=True)
def context_compiled_as_asked(case: Case) -> Iterable[Said]:
    """A compiler ignores an option that it does not understand, and says nothing."""
    for file, facts, soc in _contexts(case):
        if not _fits(case.plan, soc, facts):
            continue
        for graph in facts.graphs:
            found, wanted = _differences(case, soc, graph)
            if found:
                yield Said(
                    file=file.path,
                    found=f"graph {graph.name}: {', '.join(found)}",
                    wanted=", ".join(wanted),
                    fix="compile again; if it stays so, ask for another value, or for none",
                )


def _differences(case: Case, soc: Soc, graph: GraphFacts) -> tuple[list[str], list[str]]:
    """What the graph records otherwise than it was asked for.

    Without `vtcm_mb` in the manifest the compiler is asked for all the SoC has; of a context that this
    run did not compile only the manifest's own words are known.
    """
    plan = case.plan
    asked = next((one for one in case.asked if one.soc == soc.id), None)
    vtcm_mb = asked.vtcm_mb if asked else plan.vtcm_mb
    found, wanted = [], []
    if graph.optimization is not None and graph.optimization != plan.optimization:
        found.append(f"optimization {graph.optimization}")
        wanted.append(f"optimization {plan.optimization}")
    if vtcm_mb and graph.vtcm_mb is not None and graph.vtcm_mb != vtcm_mb:
        found.append(f"vtcm_mb {graph.vtcm_mb:g}")
        wanted.append(f"vtcm_mb {vtcm_mb}")
    hvx_threads = asked.hvx_threads if asked else plan.hvx_threads
    if hvx_threads and graph.hvx_threads is not None and graph.hvx_threads != hvx_threads:
        found.append(f"hvx_threads {graph.hvx_threads}")
        wanted.append(f"hvx_threads {hvx_threads}")
    for tensor in (*graph.inputs, *graph.outputs):
        dtype = asked.dtypes.get(tensor.name, tensor.dtype) if asked else tensor.dtype
        if tensor.dtype != dtype:
            found.append(f"{tensor.name} {tensor.dtype}")
            wanted.append(f"{tensor.name} {dtype}")
    return found, wanted
