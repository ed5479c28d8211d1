"""Logs of evaluation harnesses, recognized by content: lmms-eval, OpenCompass, HELM, VLMEvalKit.

A log becomes records with the fields `image_id`, `candidates` and `references`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cidery.files.list_cells import parse_list

WRAPPERS: dict[str, tuple[str, ...]] = {
    "candidates": (
        *("candidates", "predictions", "preds", "results", "outputs", "generations", "captions"),
        *("responses", "hypotheses", "samples", "data", "annotations", "instances"),
    ),
    "references": (
        *("references", "refs", "ground_truth", "ground_truths", "gts", "gt", "targets"),
        *("annotations", "captions", "data", "samples", "results", "instances"),
    ),
}
"""Keys of an object whose value has the captions, by side."""

_DOC_IDS = ("image_id", "question_id", "img_id", "id", "filename", "image", "videoID", "video_id")
_DOC_REFERENCES = (
    *("references", "answer", "answers", "captions", "caption", "annotations_captions"),
    *("sentences", "caption_str", "reference_strs", "enCap", "chCap"),
)


def find_wrapped(document: Mapping[str, Any], side: str, ids: Sequence[str]) -> str | None:
    """Return the key of an object that has the captions of a side, such as `results`; or None.

    Its value is a list of objects with an id, or an object of captions by id.
    """
    for key in WRAPPERS[side]:
        value = document.get(key)
        if isinstance(value, dict) and value:
            return key
        records = isinstance(value, list) and value and all(isinstance(r, dict) for r in value)
        if records and key != "annotations" and not set(ids).isdisjoint(value[0]):  # type: ignore[index]
            return key
    return None


def read_log_document(document: Any) -> tuple[list[Any], str] | None:
    """Return the records of a JSON document that a harness wrote, and its name."""
    if not isinstance(document, dict) or not document:
        return None
    states = document.get("request_states")
    if isinstance(states, list) and states and all(map(_is_helm, states)):
        return [_read_helm(state) for state in states], "HELM"
    values = list(document.values())
    if all(isinstance(v, dict) and "prediction" in v for v in values) and any(
        "gold" in v or "origin_prompt" in v for v in values
    ):
        records = [
            {"image_id": key, "candidates": _list(value["prediction"])}
            | ({"references": _list(value["gold"])} if "gold" in value else {})
            for key, value in document.items()
        ]
        return records, "OpenCompass"
    return None


def read_log_records(records: list[Any]) -> tuple[list[Any], str] | None:
    """Return the records of a harness's log with the usual fields, and the harness's name."""
    first = records[0]
    if "filtered_resps" in first and "doc_id" in first:
        return _read_lmms_eval(records), "lmms-eval"
    if "instance_id" in first and "predicted_text" in first:
        found = [
            {"image_id": r.get("instance_id"), "candidates": [r.get("predicted_text")]}
            for r in records
        ]
        return found, "HELM"
    if "index" in first and "answer" in first and "question" in first:
        found = [
            {
                "image_id": record.get("index"),
                "references": _list(record.get("answer")),
                **({"candidates": [record["prediction"]]} if "prediction" in record else {}),
            }
            for record in records
        ]
        return found, "VLMEvalKit"
    return None


def _is_helm(state: Any) -> bool:
    return isinstance(state, dict) and isinstance(state.get("instance"), dict)


def _read_helm(state: Mapping[str, Any]) -> dict[str, Any]:
    instance = state["instance"]
    completions = (state.get("result") or {}).get("completions") or []
    references = [
        one["output"]["text"]
        for one in instance.get("references") or []
        if isinstance(one, dict) and isinstance(one.get("output"), dict) and "text" in one["output"]
    ]
    return {
        "image_id": instance.get("id"),
        "candidates": [one.get("text") for one in completions[:1] if isinstance(one, dict)],
        "references": references,
    }


def _read_lmms_eval(records: list[Any]) -> list[Any]:
    """Return lmms-eval's samples; the id is that of the document if it has a unique one."""
    docs = [record.get("doc") if isinstance(record, dict) else None for record in records]
    ids = [record.get("doc_id") if isinstance(record, dict) else None for record in records]
    for field in _DOC_IDS:
        found = [doc.get(field) if isinstance(doc, dict) else None for doc in docs]
        if all(type(image) in (str, int) for image in found) and len(set(found)) == len(found):
            ids = found
            break
    converted = []
    for record, doc, image in zip(records, docs, ids, strict=True):
        if not isinstance(record, dict):
            converted.append(record)
            continue
        one = {"image_id": image, "candidates": _flatten(record.get("filtered_resps"))}
        given = _find_references(doc, record.get("target"))
        converted.append(one | ({"references": given} if given else {}))
    return converted


def _find_references(doc: Any, target: Any) -> list[Any]:
    for field in _DOC_REFERENCES:
        value = doc.get(field) if isinstance(doc, dict) else None
        if isinstance(value, list) and value:
            return value
    return _list(target) if target else []


def _flatten(given: Any) -> list[Any]:
    """Return the responses of a sample, which may be lists in a list."""
    while isinstance(given, list) and len(given) == 1 and isinstance(given[0], list):
        given = given[0]
    return given if isinstance(given, list) else [given]


def _list(given: Any) -> list[Any]:
    """Return a list, a list that is written as text, or a list of one caption."""
    if isinstance(given, list):
        return given
    found = parse_list(given) if isinstance(given, str) else None
    return [given] if found is None else found
