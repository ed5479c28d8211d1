"""Addresses of challenges."""

from django.urls import URLPattern, path

from cidery.server import challenges

urlpatterns: list[URLPattern] = [
    path("challenges", challenges.Challenges.as_view(), name="challenges"),
]
