"""What the runtime is told: `runner.conf` for hexrun, and the HTP backend-extension files for QNN's tools.

The backend ignores a key that it does not know without a word, so the files are written from typed
fields and never from free text.
"""

from __future__ import annotations

import json
import posixpath
from typing import Any, Literal

from packager import catalog
from packager.model import Frozen
from packager.plan_model import TargetPlan
from packager.versions import numbers

Asset = Literal["context", "dlc", "library"]
Priority = Literal["low", "normal", "normal_high", "high"]


class Dialect(Frozen):
    """How one span of QAIRT releases spells the HTP file; rows of `targets/htp_config.toml`."""

    id: int
    since: str
    graphs: str
    soc_key: str
    source: str


class Places(Frozen):
    """Where things stand in the tree, paths relative to its top; `dsp` is None on a simulator.

    What the device holds itself has an absolute path.

    `backends` holds the backend library of each compute unit, `models` the model of each SoC by its id.
    """

    config: str
    backends: dict[str, str]
    system: str
    dsp: str | None
    models: dict[str, str]


class Preparation(Frozen):
    """How hexrun has the NPU prepare what it composes itself; 0 is the backend's own choice."""

    optimization: int = 0
    vtcm_mb: int = 0
    hvx_threads: int = 0
    fp16: bool = False

    @property
    def line(self) -> str:
        """The line of runner.conf."""
        fp16 = "yes" if self.fp16 else "no"
        numbers = f"optimization={self.optimization} vtcm_mb={self.vtcm_mb} hvx_threads={self.hvx_threads}"
        return f"prepare {numbers} fp16={fp16}"


def dialect(release: str) -> Dialect:
    """The dialect of a QAIRT release."""
    rows = [Dialect.model_validate(row) for row in catalog.table("htp_config")["dialect"]]
    wanted = numbers(release)
    return max((row for row in rows if numbers(row.since) <= wanted), key=lambda row: numbers(row.since))


class HtpGraph(Frozen):
    """How the backend runs graphs: `vtcm_mb` 0 is all there is, `O` the optimization level."""

    graph_names: tuple[str, ...]
    vtcm_mb: int
    O: int  # noqa: E741 (the key's own name)
    fp16_relaxed_precision: int | None = None
    hvx_threads: int | None = None


class HtpCore(Frozen):
    """The power vote of one core; times in microseconds."""

    core_id: int
    perf_profile: str
    rpc_control_latency: int
    rpc_polling_time: int | None = None


class HtpDevice(Frozen):
    """The NPU that graphs are for. `soc_model` is written under the dialect's key."""

    device_id: int
    soc_model: int
    dsp_arch: str
    pd_session: str
    cores: tuple[HtpCore, ...]


def htp_config(plan: TargetPlan, soc: catalog.Soc, graph_names: tuple[str, ...]) -> dict[str, Any]:
    """The backend-extension document for one SoC (`graphs`, `devices`), in its release's dialect."""
    spelling = dialect(plan.runtime_set.release.version)
    graph = HtpGraph(
        graph_names=graph_names,
        vtcm_mb=plan.vtcm_mb,
        O=plan.optimization,
        fp16_relaxed_precision=1 if plan.precision == "float" else None,
        hvx_threads=plan.hvx_threads or None,
    ).model_dump(mode="json", exclude_none=True)
    core = HtpCore(
        core_id=0,
        perf_profile=plan.power,
        rpc_control_latency=plan.rpc_latency_us,
        rpc_polling_time=plan.rpc_polling_us,
    )
    device = HtpDevice(
        device_id=0, soc_model=soc.soc_model, dsp_arch=soc.arch, pd_session="unsigned", cores=(core,)
    ).model_dump(mode="json", exclude_none=True)
    spelled = {spelling.soc_key if key == "soc_model" else key: value for key, value in device.items()}
    return {"graphs": [graph] if spelling.graphs == "array" else graph, "devices": [spelled]}


def net_run_config(plan: TargetPlan, htp_file: str) -> dict[str, Any]:
    """The file for `--config_file` of QNN's tools, which points at the HTP file beside it."""
    library = catalog.role_file("net-run-extensions", plan.system)
    return {"backend_extensions": {"shared_library_path": library, "config_file_path": htp_file}}


def json_text(document: dict[str, Any]) -> str:
    """The form in which configuration files are written: readable, stable, one final line end."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def runner_conf(
    plan: TargetPlan, places: Places, *, asset: Asset = "context", priority: Priority = "normal"
) -> str:
    """`runner.conf`: one `key value…` a line, paths relative to the file's own folder.

    `asset` is what the models are. A context binary is prepared already; for anything else hexrun is told
    how to prepare it.
    """
    here = posixpath.dirname(places.config)

    def relative(path: str) -> str:
        if path.startswith("/") or path[1:2] == ":":  # the device's own
            return path
        return posixpath.relpath(path, here or ".")

    lines = [
        "# Read by hexrun. Paths are relative to this file.",
        "format 2",
        f"package {plan.package.name} {plan.package.version}",
        f"system {relative(places.system)}",
    ]
    if plan.vendor_libraries == "require":
        release = plan.runtime_set.release
        lines.insert(1, f"# The device brings QAIRT {release.version}, build {release.build}.")
    if places.dsp is not None:
        lines.append(f"dsp {relative(places.dsp or '.')}")
    lines += [
        f"simulator {'yes' if plan.abi.simulator else 'no'}",
        *(f"compute {unit} {relative(places.backends[unit])}" for unit in _units(plan)),
        f"power {plan.power}",
        f"rpc_latency_us {plan.rpc_latency_us}",
    ]
    if plan.rpc_polling_us is not None:
        lines.append(f"rpc_polling_us {plan.rpc_polling_us}")
    lines += [f"priority {priority}", f"compatibility {plan.compatibility}"]
    if asset != "context":
        lines.append(_preparation(plan).line)
    lines += [
        f"variant soc={soc.id} soc_model={soc.soc_model} accepts={_list(soc.accepts)} "
        f"hexagon={soc.hexagon} vtcm_mb={soc.vtcm_mb or 0} linux_soc_ids={_list(soc.linux_soc_ids)} "
        f"{asset}={relative(places.models[soc.id])}"
        for soc in plan.socs
    ]
    return "\n".join(lines) + "\n"


def _units(plan: TargetPlan) -> tuple[str, ...]:
    """The units of hexrun: of a split model it runs the parts of the NPU alone."""
    return ("npu",) if plan.splits else plan.compute


def _preparation(plan: TargetPlan) -> Preparation:
    return Preparation(
        optimization=plan.optimization,
        vtcm_mb=plan.vtcm_mb,
        hvx_threads=plan.hvx_threads,
        fp16=plan.precision == "float",
    )


def _list(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers)) or "-"
