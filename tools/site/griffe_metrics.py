"""Tells Griffe, which reads code without running it, what it cannot see for itself."""

from pathlib import Path
from typing import Any

from griffe import Alias, Class, Extension, Module

from cidery.metrics.on_demand import read_imports

INTERFACES = ("cidery.metrics.base.Metric", "cidery.diversity.base.Measure")
"""Classes whose methods every subclass has, and whose pages describe them once."""


class BuiltinMetrics(Extension):
    """Shows the metrics of `cidery.metrics.builtin` as names of cidery, each with its settings."""

    def on_module_members(self, *, mod: Module, **_: Any) -> None:
        """Name what the module has when it runs: the imports that its stub lists."""
        if mod.path == "cidery.metrics.builtin":
            listed = read_imports(Path(str(mod.filepath)).with_suffix(".pyi").read_bytes())
            for name, module in listed.items():
                mod.set_member(name, Alias(name, f"{module}.{name}"))
            mod.exports = ["FAMILIES", "METRICS", *listed]

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Leave out of a subclass what the interface describes."""
        if pkg.path == "cidery":
            for path in INTERFACES:
                interface = pkg[path.partition(".")[2]]
                hide_overrides(pkg, interface)


def hide_overrides(module: Module, interface: Class) -> None:
    """Drop members that a class of this module has from an interface."""
    for child in module.modules.values():
        if not child.is_alias:
            hide_overrides(child, interface)
    for kind in module.classes.values():
        if not kind.is_alias and any(base.path == interface.path for base in kind.mro()):
            for name in kind.members.keys() & interface.members.keys():
                del kind.members[name]
