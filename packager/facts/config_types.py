"""Facts of files that configure: HTP and Genie JSON, environments, manifests and metadata of other tools.

A key that a file has is a fact; whether anybody knows the key is for the rules. Paths are as written.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from packager.model import Frozen


class HtpDevice(Frozen):
    """An entry of `devices` in an HTP configuration. `arch` is the number of `dsp_arch`, 73 for "v73"."""

    soc_model: int | None = None
    arch: int | None = None
    pd_session: str | None = None


class HtpGraphs(Frozen):
    """An entry of `graphs` in an HTP configuration; None where the entry does not say."""

    names: tuple[str, ...] = ()
    vtcm_mb: int | None = None
    optimization: int | None = None


class HtpConfigFacts(Frozen):
    """An HTP backend extension file, or the outer file that names one (`backend_extensions`).

    `keys` are all key paths without indexes (`devices.cores.perf_profile`), each once, in file order.
    `graphs_shape` says whether `graphs` is one object, as old releases wrote it, or an array. `paths` are the
    files that it names; the library beside them is found by the loader.
    """

    kind: Literal["htp-config"] = "htp-config"
    keys: tuple[str, ...]
    graphs_shape: Literal["object", "array"] | None = None
    graphs: tuple[HtpGraphs, ...] = ()
    devices: tuple[HtpDevice, ...] = ()
    weight_sharing: bool | None = None
    paths: tuple[str, ...] = ()


class RunnerConfigFacts(Frozen):
    """A runner.conf: the first word of each line (`keys`), the libraries it names, and its models.

    `format` is None where the file does not say a number. `contexts` are the files of models of every kind.
    """

    kind: Literal["runner-config"] = "runner-config"
    format: int | None = None
    keys: tuple[str, ...] = ()
    paths: tuple[str, ...]
    contexts: tuple[str, ...] = ()


class Assignment(Frozen):
    """A variable that a script, unit or compose file sets.

    `quoted` is False where a reader of the file would end the value at a `;`.
    """

    line: int
    variable: str
    value: str
    quoted: bool


class EnvironmentFacts(Frozen):
    """What a shell script, systemd unit, environment file or compose file sets for the loaders.

    Only variables that a loader of libraries reads are listed. `dialect` says who reads the file. `files` are
    those whose assignments it takes over (`EnvironmentFile=`, `env_file`, `. ./env.sh`), as it names them.
    """

    kind: Literal["environment"] = "environment"
    dialect: Literal["shell", "systemd", "environment", "compose", "batch"]
    assignments: tuple[Assignment, ...]
    files: tuple[str, ...] = ()


class BuildEntry(Frozen):
    """A line of a QNX build file. `source` is on the build machine; without one, `target` is sought there.

    `attributes` are those in force here, of this line and of lines before it; `+` and `-` are the values of
    those that are turned on and off. `inline` says that the text itself stands in the build file.
    """

    line: int
    target: str
    source: str | None = None
    inline: bool = False
    attributes: dict[str, str]


class BuildFileFacts(Frozen):
    """What QNX's mkifs and mkqnx6fsimg are told to put into an image."""

    kind: Literal["build-file"] = "build-file"
    entries: tuple[BuildEntry, ...]


class GenieFacts(Frozen):
    """A genie_config.json: the files that it names, and what it says about the engine."""

    kind: Literal["genie-config"] = "genie-config"
    paths: tuple[str, ...]
    model_paths: tuple[str, ...] = ()
    backend: str | None = None


class AiHubModelFile(Frozen):
    """A model file that the AI Hub's metadata describes; tensors are name, type and shape in words."""

    name: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()


class AiHubFacts(Frozen):
    """The metadata beside a model of the Qualcomm AI Hub, as JSON or YAML.

    `tool_versions` has `qairt`, `onnx` and others as they are written. `chipset`, `device`, `soc_model` and
    `hexagon_arch` are there for models that are compiled for one chip. `supplements` are further files.
    """

    kind: Literal["ai-hub-metadata"] = "ai-hub-metadata"
    model: str | None = None
    runtime: str | None = None
    precision: str | None = None
    device: str | None = None
    chipset: str | None = None
    soc_model: int | None = None
    hexagon_arch: int | None = None
    tool_versions: dict[str, str] = Field(default_factory=dict)
    files: tuple[AiHubModelFile, ...] = ()
    supplements: tuple[str, ...] = ()


class AiHubAsset(Frozen):
    """A model to download: for one runtime and precision, and for one chipset unless it is for all."""

    runtime: str | None = None
    precision: str | None = None
    chipset: str | None = None
    url: str | None = None
    tool_versions: dict[str, str] = Field(default_factory=dict)


class AiHubReleaseFacts(Frozen):
    """The list of what a release of qai-hub-models has of one model (release-assets.json or .yaml).

    Runtimes and precisions are lower case without a prefix, as in the metadata beside a model.
    """

    kind: Literal["ai-hub-release"] = "ai-hub-release"
    model: str | None = None
    version: str | None = None
    assets: tuple[AiHubAsset, ...] = ()


class HubAppsFacts(Frozen):
    """A qai_hub_apps.json: which model was put into an app of Qualcomm's, for what, with which files."""

    kind: Literal["hub-apps"] = "hub-apps"
    model: str | None = None
    chipset: str | None = None
    device: str | None = None
    files: tuple[str, ...] = ()
    tool_version: str | None = None


class ModelPackageVariant(Frozen):
    """One variant of a component of an ONNX Runtime model package; its folder is inside the component's.

    `files` are the model and the descriptions that it names inside its folder, without shared assets.
    """

    component: str | None
    name: str
    folder: str
    files: tuple[str, ...] = ()
    ep: str | None = None
    device: str | None = None
    compatibility: str | None = None


class ModelPackageFacts(Frozen):
    """The manifest of an ONNX Runtime model package, or one of its components.

    `components` are the paths of components that are files or folders of their own, `shared_assets` the
    paths of assets that lie elsewhere than usual. `schema_version` is None in a component by itself,
    and in the form of packages before there was one (`component_models`, `model_variants`).
    """

    kind: Literal["model-package"] = "model-package"
    schema_version: str | None = None
    components: tuple[str, ...] = ()
    shared_assets: tuple[str, ...] = ()
    variants: tuple[ModelPackageVariant, ...] = ()


class AndroidLibraryUse(Frozen):
    """A `<uses-native-library>` of an Android manifest. `required` is None where a resource decides."""

    name: str
    required: bool | None


class AndroidManifestFacts(Frozen):
    """An AndroidManifest.xml: `compiled`, as in an APK, or text, as in an AAR.

    `split` is the name of the part that this APK is of an app; the base has none. A value is None where the
    file leaves it to the default, or to a resource or placeholder that is not in the file.
    """

    kind: Literal["android-manifest"] = "android-manifest"
    package: str | None
    compiled: bool
    split: str | None = None
    min_sdk: int | None = None
    target_sdk: int | None = None
    extract_native_libs: bool | None = None
    debuggable: bool | None = None
    native_libraries: tuple[AndroidLibraryUse, ...] = ()
