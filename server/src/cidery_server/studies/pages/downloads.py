"""Downloads: images of items, exports and charts."""

from __future__ import annotations

from typing import Any

from django.http import FileResponse, Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from cidery.errors import CideryError
from cidery_server.studies.charts import CHARTS
from cidery_server.studies.exports import EXPORTS, export_study
from cidery_server.studies.frames import FramedPage
from cidery_server.studies.images import find_image, image_type
from cidery_server.studies.models import Item, Study
from cidery_server.studies.pages.judges import read_judge_key
from cidery_server.web.pages import Page
from cidery_server.web.roles import Role


class FileData(serializers.Serializer[Any]):
    """A file, unchanged."""


class Download(Page):
    """A file; there is nothing to show around it."""

    shows = FileData
    template_name = "studies/study.html"

    def download(self) -> HttpResponseBase:
        """Return the file."""
        raise NotImplementedError

    def get(self, _request: Request, **_address: Any) -> HttpResponseBase:
        """Send the file."""
        return self.download()


class ItemImage(FramedPage, Download):
    """Sends the image of an item to the owner, or to a judge who was given the item."""

    role = Role.ANYONE

    def download(self) -> HttpResponseBase:
        """Find the file; nothing outside the study's folder of images is sent."""
        items = Item.objects.filter(study__name=self.kwargs["name"]).select_related("study")
        if not Role.OWNER.admits(self.request.user):
            items = items.filter(assignments__judge=read_judge_key(self))
        item = get_object_or_404(items, pk=self.kwargs["item"])
        path = find_image(item.study, item.content["image"])
        if path is None:
            raise Http404
        response = FileResponse(path.open("rb"), content_type=image_type(path))
        response["Cache-Control"] = "private, max-age=3600"
        return response


class Export(Download):
    """Sends a study's answers as a file."""

    role = Role.OWNER

    def download(self) -> HttpResponseBase:
        """Write the file."""
        study = get_object_or_404(Study, name=self.kwargs["name"])
        kind = self.kwargs["kind"]
        if kind not in EXPORTS:
            raise Http404
        try:
            text = export_study(study, kind)
        except CideryError as error:
            raise serializers.ValidationError({"kind": [str(error)]}) from None
        name = f"{study.name}-{EXPORTS[kind][0]}"
        return HttpResponse(
            text,
            content_type="text/plain; charset=utf-8",
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )


class StudyChart(Download):
    """Sends a drawing of a study's answers as SVG."""

    role = Role.OWNER

    def download(self) -> HttpResponseBase:
        """Draw it."""
        study = get_object_or_404(Study, name=self.kwargs["name"])
        draw = CHARTS.get(self.kwargs["chart"])
        if draw is None:
            raise Http404
        return HttpResponse(draw(study), content_type="image/svg+xml")
