"""What a package for QNX brings beside the tree. Data in `targets/qnx.toml`.

QNX has no package manager: a script of the package puts the DSP's files into the host's image folders, and an
image builder reads lines of a build file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from packager import catalog
from packager.bundle import BundleFile, BundleLink
from packager.layouts import Layout, layout_of
from packager.layouts.additions import Additions, Script
from packager.model import Frozen
from packager.plan_model import TargetPlan
from packager.templating import fill

_EXECUTABLE = 0o755
_IMAGES = "images"  # of the tree


class HostPlaces(Frozen):
    """Where a QNX host has its DSP files; see the head of `targets/qnx.toml`."""

    images: str
    mount_point: str
    prefix: str
    domains: tuple[str, ...]
    variables: tuple[str, ...]
    source: str


def host_places() -> HostPlaces:
    """The one row of the table."""
    (row,) = catalog.table("qnx")["place"]
    return HostPlaces.model_validate(row)


def domains(plan: TargetPlan) -> tuple[str, ...]:
    """Compute DSPs of the target's SoCs by name; `cdsp1` is there where one of them has two."""
    return host_places().domains[: max((soc.compute_dsps for soc in plan.socs), default=1)]


def image_links(plan: TargetPlan, files: Iterable[BundleFile]) -> tuple[BundleLink, ...]:
    """`images/cdsp0/<file>` for each file that the DSP loads: links, so that no skel is there twice."""
    names = [(file.path, file.name) for file in _for_the_dsp(layout_of(plan.system), files)]
    return tuple(
        BundleLink(path=f"{_IMAGES}/{domain}/{name}", target=f"../../{path}")
        for domain in domains(plan)
        for path, name in names
    )


def additions(plan: TargetPlan, files: Sequence[BundleFile]) -> Additions:
    """`install.sh`, `env.sh`, a fragment for each image builder, and the links of `image_links`."""
    links = image_links(plan, files)
    return Additions(scripts=tuple(_scripts(plan, files, links)), links=links)


def _scripts(plan: TargetPlan, files: Sequence[BundleFile], links: Sequence[BundleLink]) -> Iterator[Script]:
    layout, host = layout_of(plan.system), host_places()
    yield Script(
        "documents",
        "install.sh",
        fill(
            "qnx", "install.sh.jinja",
            plan=plan, dsp=_for_the_dsp(layout, files), domains=domains(plan),
            images=host.images, mount_point=host.mount_point,
        ),
        _EXECUTABLE,
    )  # fmt: skip
    config = layout.path("config", "runner.conf")
    text = fill("qnx", "env.sh.jinja", plan=plan, layout=layout, config=config, dsp_variables=host.variables)
    yield Script("documents", "env.sh", text)
    variable = re.sub(r"\W", "_", plan.package.name).upper() + "_TREE"
    for image in catalog.table("qnx")["image"]:
        text = fill(
            "qnx", "image.build.jinja",
            plan=plan, image=image, files=files, links=links,
            variable=variable, tree=f"${{{variable}}}", prefix=f"{host.prefix}/{plan.package.name}",
        )  # fmt: skip
        yield Script("config", f"{plan.package.name}-{image['file']}", text)


def _for_the_dsp(layout: Layout, files: Iterable[BundleFile]) -> list[BundleFile]:
    return [file for file in files if file.path.rpartition("/")[0] == layout.dsp]
