"""Pages of announcements and of files to download."""

from __future__ import annotations

from typing import Any

from django.db import IntegrityError, transaction
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils.http import content_disposition_header
from rest_framework import serializers
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from cidery_server.challenges.forms import AnnouncementForm, FileForm
from cidery_server.challenges.models import Announcement, Challenge, ChallengeFile
from cidery_server.challenges.pages.challenges import files_for, get_challenge
from cidery_server.challenges.serializers import (
    AnnouncementData,
    AnnouncementsData,
    FileData,
    FilesData,
)
from cidery_server.challenges.tasks import mail_announcement
from cidery_server.web.accounts import NoFields
from cidery_server.web.pages import FormPage, Page
from cidery_server.web.roles import Role
from cidery_server.web.translation import translate as _

MAX_FILES = 20


class Announcements(FormPage):
    """Lists a challenge's announcements; the owner adds them."""

    role = Role.ANYONE
    writers = Role.OWNER
    template_name = "challenges/announcements.html"
    shows = AnnouncementsData
    form = AnnouncementForm
    accepts = AnnouncementData

    def show(self) -> Any:
        """Return the newest first."""
        challenge = get_challenge(self).main
        return {"challenge": challenge, "announcements": challenge.announcements.all()}

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Store it, and send it by e-mail to the participating teams if requested."""
        challenge = get_challenge(self).main
        mail = values.pop("mail")
        made = challenge.announcements.create(**values)
        if mail:
            transaction.on_commit(lambda: mail_announcement(made.pk), robust=True)
        return self.done("announcements", made, challenge=challenge.slug)


class DeleteAnnouncement(FormPage):
    """Takes an announcement back."""

    role = Role.OWNER
    template_name = "challenges/delete.html"
    shows = AnnouncementData
    form = NoFields

    def show(self) -> Announcement:
        """Return the announcement."""
        found = get_challenge(self).main.announcements
        return get_object_or_404(found, pk=self.kwargs["announcement"])

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:  # noqa: ARG002
        """Delete it."""
        self.show().delete()
        return self.done("announcements", challenge=self.kwargs["challenge"])


class Files(FormPage):
    """Lists a challenge's files; the owner uploads them."""

    role = Role.ANYONE
    writers = Role.OWNER
    template_name = "challenges/files.html"
    shows = FilesData
    form = FileForm
    accepts = FileData
    has_files = True

    def show(self) -> Any:
        """Return the files that the visitor may download."""
        challenge = get_challenge(self)
        files = files_for(self.request.user, challenge).defer("content")
        return {"challenge": challenge.main, "files": files}

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:
        """Store the file under its own name."""
        challenge, file = get_challenge(self).main, values.pop("file")
        content = file.read()
        if challenge.files.count() >= MAX_FILES:
            raise serializers.ValidationError(
                {
                    "file": [
                        _("There are already {count} files, the maximum.").format(count=MAX_FILES)
                    ]
                }
            )
        try:
            with transaction.atomic():
                made = challenge.files.create(
                    name=values["name"] or file.name,
                    about=values["about"],
                    for_teams=values["for_teams"],
                    size=len(content),
                    content=content,
                )
        except IntegrityError:
            taken = _("There is a file of this name already; delete it first.")
            raise serializers.ValidationError({"name": [taken]}) from None
        return self.done("files", made, challenge=challenge.slug)


class Download(Page):
    """Sends a file to a browser; its JSON has the size."""

    role = Role.ANYONE
    template_name = "challenges/files.html"
    shows = FileData

    def show(self) -> ChallengeFile:
        """Return the file; raise a 404 error if the visitor may not download it."""
        challenge: Challenge = get_challenge(self)
        found = files_for(self.request.user, challenge).filter(pk=self.kwargs["file"]).first()
        if found is None:
            raise NotFound(_("There is no such file."))
        return found

    def get(self, _request: Request, **_address: Any) -> HttpResponseBase:
        """Send it as an attachment, which no browser opens within the app."""
        file = self.show()
        if not self.is_html:
            return self.render()
        answer = HttpResponse(bytes(file.content), content_type="application/octet-stream")
        answer["Content-Disposition"] = content_disposition_header(True, file.name) or "attachment"
        return answer


class DeleteFile(FormPage):
    """Deletes a file."""

    role = Role.OWNER
    template_name = "challenges/delete.html"
    shows = FileData
    form = NoFields

    def show(self) -> ChallengeFile:
        """Return the file."""
        found = get_challenge(self).main.files.defer("content")
        return get_object_or_404(found, pk=self.kwargs["file"])

    def accept(self, values: dict[str, Any]) -> HttpResponseBase:  # noqa: ARG002
        """Delete it."""
        self.show().delete()
        return self.done("files", challenge=self.kwargs["challenge"])
