"""Tells Griffe, which reads code without running it, what it cannot see for itself."""

from typing import Any

from griffe import Class, Extension, Module

INTERFACES = ("cidery.metrics.base.Metric", "cidery.diversity.base.Measure")
"""Classes whose methods every subclass has, and whose pages describe them once."""


class BuiltinMetrics(Extension):
    """Shows the metrics of `cidery.metrics.builtin` as names of cidery, each with its settings."""

    def on_module_members(self, *, mod: Module, **_: Any) -> None:
        """Name what the module exports: its `__all__` is computed of the classes it imports."""
        if mod.path == "cidery.metrics.builtin":
            metrics = [
                name
                for name, member in mod.members.items()
                if member.is_alias
                and member.target_path.startswith("cidery.metrics.")
                and name != "Metric"
            ]
            mod.exports = ["FAMILIES", "METRICS", *metrics]

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
