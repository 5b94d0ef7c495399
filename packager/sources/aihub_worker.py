"""What runs the AI Hub's own client: one request on stdin, one JSON document a line on stdout.

The file is run by its path in a process of its own, with hexpack's Python or another that has `qai_hub`, and
so imports nothing of hexpack. What the client prints goes to stderr. Events:

    {"event": "submitted", "job": ID}            the job exists, and a later run can take it up
    {"event": "uploaded", "model": ID}           so does the model
    {"event": "state", "job": ID, "state": …}    a job has changed its state
    {"event": "trouble", "said": …}              the service did not answer, and is asked again
    {"event": "done", "file": …, "job": …, "metadata": {…}}
    {"event": "error", "kind": "client" | "login" | "refused" | "network" | "failed" | "gone", "said": …}
"""

# ruff: noqa: ANN401 - the client may be absent, so its objects have no types here

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

PATIENCE = 5  # answers in a row that may fail while a job runs
_GONE, _NO_LOGIN = "could not be found", "authenticate"  # in the client's words for 404 and 401


class _Stop(Exception):
    def __init__(self, kind: str, said: str) -> None:
        super().__init__(said)
        self.kind, self.said = kind, said


class Worker:
    """Serves one request with the client."""

    def __init__(self, request: dict[str, Any], say: Any) -> None:
        self._request, self._say = request, say
        try:
            import qai_hub
        except ImportError as problem:
            raise _Stop("client", str(problem)) from problem
        self._hub = qai_hub
        try:
            self._client = qai_hub.Client()
            self._client.set_verbose(False)
        except Exception as problem:
            raise _Stop("login", str(problem)) from problem

    def serve(self) -> None:
        """Do what is asked for. Raises _Stop."""
        {
            "model": self._model,
            "job": self._job,
            "compile": self._compile,
            "quantize": self._quantize,
            "link": self._link,
        }[self._request["do"]]()

    def _model(self) -> None:
        self._bring(self._ask(self._client.get_model, self._request["model"]), job=None)

    def _job(self) -> None:
        """Wait for a job that exists already, and bring what it made."""
        self._finish(self._request["job"])

    def _compile(self) -> None:
        job = self._ask(
            self._client.submit_compile_job,
            self._uploaded(),
            device=self._device(),
            name=self._request["name"],
            input_specs=self._shapes(),
            options=self._request["options"],
        )
        self._submitted(job)

    def _quantize(self) -> None:
        job = self._ask(
            self._client.submit_quantize_job,
            self._uploaded(),
            calibration_data=self._samples(),
            weights_dtype=self._hub.QuantizeDtype[self._request["weights"]],
            activations_dtype=self._hub.QuantizeDtype[self._request["activations"]],
            name=self._request["name"],
            options=self._request["options"],
        )
        self._submitted(job)

    def _link(self) -> None:
        job = self._ask(
            self._client.submit_link_job,
            [self._uploaded()],
            device=self._device(),
            name=self._request["name"],
            options=self._request["options"],
        )
        self._submitted(job)

    def _device(self) -> Any:
        return self._hub.Device(attributes=self._request["device"])

    def _shapes(self) -> dict[str, Any] | None:
        given = self._request.get("inputs")
        return {name: (tuple(shape), dtype) for name, (shape, dtype) in given.items()} if given else None

    def _samples(self) -> dict[str, list[Any]]:
        """Input name to arrays, from one npz file for each sample."""
        import numpy as np

        found: dict[str, list[Any]] = {}
        for path in self._request["samples"]:
            with np.load(path) as arrays:
                for name in arrays.files:
                    found.setdefault(name, []).append(arrays[name])
        return found

    def _uploaded(self) -> Any:
        """The model of the request at the Hub: known there by its id, or uploaded now."""
        known = self._request.get("model")
        if known:
            return self._ask(self._client.get_model, known)
        model = self._ask(self._client.upload_model, self._request["path"], self._request["name"])
        self._say(event="uploaded", model=model.model_id)
        return model

    def _submitted(self, job: Any) -> None:
        self._say(event="submitted", job=job.job_id)
        self._finish(job.job_id)

    def _finish(self, job_id: str) -> None:
        job = self._patiently(self._client.get_job, job_id)
        last = None
        while True:
            status = self._patiently(job.get_status)
            if status.code != last:
                self._say(event="state", job=job_id, state=status.code)
                last = status.code
            if status.finished:
                break
            time.sleep(self._request["poll"])
        if status.failure:
            raise _Stop("failed", status.message or "the service gives no reason")
        if not hasattr(job, "get_target_model"):
            raise _Stop("refused", f"a job of type {job.job_type} makes no model")
        self._bring(self._ask(job.get_target_model), job=job_id)

    def _bring(self, model: Any, *, job: str | None) -> None:
        if model is None:
            raise _Stop("gone", "the job made no model")
        file = self._patiently(model.download, self._request["into"])
        metadata = self._ask(lambda: model.metadata) or {}
        self._say(
            event="done",
            file=str(Path(file).absolute()),
            name=model.name,
            job=job,
            metadata={key.name: value for key, value in metadata.items() if key.name != "UNSPECIFIED"},
        )

    def _patiently(self, call: Any, *arguments: Any) -> Any:
        """An answer, asked for again while the service cannot be reached: nothing is done twice by it."""
        for attempt in range(1, PATIENCE + 1):
            try:
                return self._ask(call, *arguments)
            except _Stop as stop:
                if stop.kind != "network" or attempt == PATIENCE:
                    raise
                self._say(event="trouble", said=stop.said)
                time.sleep(self._request["poll"])
        return None

    def _ask(self, call: Any, *arguments: Any, **named: Any) -> Any:
        from qai_hub.client import UserError

        try:
            return call(*arguments, **named)
        except UserError as problem:
            words = {_GONE: "gone", _NO_LOGIN: "login"}
            kind = next((kind for word, kind in words.items() if word in str(problem)), "refused")
            raise _Stop(kind, str(problem)) from problem
        except Exception as problem:  # the client's own for the service, those of its HTTP library
            if isinstance(problem, ValueError | TypeError | KeyError | AssertionError):
                raise _Stop("refused", f"{type(problem).__name__}: {problem}") from problem
            raise _Stop("network", str(problem) or type(problem).__name__) from problem


def main() -> int:
    """Read the request, serve it, say how it went."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)

        def say(**event: object) -> None:
            out.write(json.dumps(event) + "\n")
            out.flush()

        try:
            Worker(json.loads(sys.stdin.read()), say).serve()
        except _Stop as stop:
            say(event="error", kind=stop.kind, said=stop.said)
            return 1
    return 0


def _run() -> NoReturn:
    sys.exit(main())


if __name__ == "__main__":
    _run()
