"""Metrics chosen on the web may not open files of the server."""

from __future__ import annotations

from collections.abc import Sequence

from rest_framework import serializers

from cidery.errors import CideryError
from cidery.metrics import get_metrics, split_settings
from cidery_server.web.translation import translate as _

PATHS = frozenset("/\\~")
"""Characters of paths, for settings of plug-ins that do not declare the files they open."""


def refuse_files(given: str | Sequence[str]) -> None:
    """Refuse settings of metrics that name files or folders.

    Raises:
        ValidationError: there is one. Unknown metrics are refused where they are computed.
    """
    names = [given] if isinstance(given, str) else given
    try:
        found = [name for metric in get_metrics(names).values() for name in metric.needs.files]
        asked = [pair for name in names for pair in split_settings(name)[1].items()]
    except CideryError:
        return
    found += [key for key, value in asked if PATHS & set(value)]
    if found:
        raise serializers.ValidationError(
            _(
                "{setting} names a file or a folder of the server; that is only possible on"
                " the server's command line"
            ).format(setting=found[0])
        )
