"""What the runtime is told: `runner.conf` for hexrun, and the HTP backend-extension files for QNN's tools.

The backend ignores a key that it does not know without a word, so the files are written from typed
fields and never from free text.
"""

from __future__ import annotations

import json
import posixpath
from typing import Any

from packager import catalog
from packager.model import Frozen
from packager.plan_model import TargetPlan
from packager.versions import numbers


class Dialect(Frozen):
    """How one span of QAIRT releases spells the HTP file; rows of `targets/htp_config.toml`."""

    id: int
    since: str
    graphs: str
    soc_key: str
    source: str


class Places(Frozen):
    """Where things stand in the tree, paths relative to its top; `dsp` is None on a simulator."""

    config: str
    backend: str
    system: str
    dsp: str | None
    contexts: dict[str, str]


def dialect(release: str) -> Dialect:
    """The dialect of a QAIRT release."""
    rows = [Dialect.model_validate(row) for row in catalog.table("htp_config")["dialect"]]
    wanted = numbers(release)
    return max((row for row in rows if numbers(row.since) <= wanted), key=lambda row: numbers(row.since))


def htp_config(plan: TargetPlan, soc: catalog.Soc, graph_names: tuple[str, ...]) -> dict[str, Any]:
    """The backend-extension document for one SoC (`graphs`, `devices`), in its release's dialect."""
    spelling = dialect(plan.runtime_set.release.version)
    graph: dict[str, Any] = {
        "graph_names": list(graph_names),
        "vtcm_mb": plan.vtcm_mb,
        "O": plan.optimization,
    }
    if plan.precision == "float":
        graph["fp16_relaxed_precision"] = 1
    if plan.hvx_threads:
        graph["hvx_threads"] = plan.hvx_threads
    core: dict[str, Any] = {"core_id": 0, "rpc_control_latency": plan.rpc_latency_us}
    core["perf_profile"] = plan.power
    if plan.rpc_polling_us is not None:
        core["rpc_polling_time"] = plan.rpc_polling_us
    device = {
        "device_id": 0,
        spelling.soc_key: soc.soc_model,
        "dsp_arch": soc.arch,
        "pd_session": "unsigned",
        "cores": [core],
    }
    return {"graphs": [graph] if spelling.graphs == "array" else graph, "devices": [device]}


def net_run_config(plan: TargetPlan, htp_file: str) -> dict[str, Any]:
    """The file for `--config_file` of QNN's tools, which points at the HTP file beside it."""
    library = catalog.role_file("net-run-extensions", plan.system)
    return {"backend_extensions": {"shared_library_path": library, "config_file_path": htp_file}}


def json_text(document: dict[str, Any]) -> str:
    """The form in which configuration files are written: readable, stable, one final line end."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def runner_conf(plan: TargetPlan, places: Places) -> str:
    """`runner.conf`: one `key value…` a line, paths relative to the file's own folder."""
    here = posixpath.dirname(places.config)

    def relative(path: str) -> str:
        return posixpath.relpath(path, here or ".")

    lines = [
        "# Read by hexrun. Paths are relative to this file.",
        "format 1",
        f"package {plan.package.name} {plan.package.version}",
        f"backend {relative(places.backend)}",
        f"system {relative(places.system)}",
    ]
    if places.dsp is not None:
        lines.append(f"dsp {relative(places.dsp or '.')}")
    lines += [
        f"simulator {'yes' if plan.abi.simulator else 'no'}",
        f"compute {' '.join(plan.compute)}",
        f"power {plan.power}",
        f"rpc_latency_us {plan.rpc_latency_us}",
    ]
    if plan.rpc_polling_us is not None:
        lines.append(f"rpc_polling_us {plan.rpc_polling_us}")
    lines += [
        f"variant soc={soc.id} soc_model={soc.soc_model} accepts={_list(soc.accepts)} "
        f"hexagon={soc.hexagon} vtcm_mb={soc.vtcm_mb or 0} linux_soc_ids={_list(soc.linux_soc_ids)} "
        f"context={relative(places.contexts[soc.id])}"
        for soc in plan.socs
    ]
    return "\n".join(lines) + "\n"


def _list(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers)) or "-"
