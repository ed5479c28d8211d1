"""Tells Griffe, which reads code without running it, what `cidery.metrics.builtin` exports."""

from typing import Any

from griffe import Extension, Module


class BuiltinMetrics(Extension):
    """The module computes its `__all__` of the classes that it imports."""

    def on_module_members(self, *, mod: Module, **_: Any) -> None:
        """Name the metrics."""
        if mod.path == "cidery.metrics.builtin":
            metrics = [
                name
                for name, member in mod.members.items()
                if member.is_alias
                and member.target_path.startswith("cidery.metrics.")
                and name != "Metric"
            ]
            mod.exports = ["FAMILIES", "METRICS", *metrics]
