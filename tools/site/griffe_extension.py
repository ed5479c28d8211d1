"""Extends Griffe, which reads code without running it, with what cidery does at run time."""

from collections.abc import Iterator
from typing import Any

from griffe import Class, Extension, Module

INTERFACES = ("cidery.metrics.base.Metric", "cidery.diversity.base.Measure")
"""Classes whose pages describe the methods of all their subclasses."""


class PublicNames(Extension):
    """Exports lazy names, and hides methods that a base class documents."""

    def on_package(self, *, pkg: Module, **_: Any) -> None:
        """Adjust the members of a package that was read completely."""
        for module in walk_modules(pkg):
            if "lazy_loader" in module.imports:  # its names are the imports of its stub
                module.exports = [name for name in module.imports if name != "lazy_loader"]
        if pkg.path == "cidery":
            for path in INTERFACES:
                hide_overrides(pkg, pkg[path.partition(".")[2]])


def walk_modules(module: Module) -> Iterator[Module]:
    """Yield a module and all modules below it."""
    yield module
    for child in module.modules.values():
        if not child.is_alias:
            yield from walk_modules(child)


def hide_overrides(package: Module, interface: Class) -> None:
    """Remove from all classes of a package the members that an interface documents."""
    for module in walk_modules(package):
        for kind in module.classes.values():
            if not kind.is_alias and any(base.path == interface.path for base in kind.mro()):
                for name in kind.members.keys() & interface.members.keys():
                    del kind.members[name]
