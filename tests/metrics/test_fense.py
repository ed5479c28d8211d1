"""FENSE and SPIDEr-FL: their equation, and the faults that they punish."""

from __future__ import annotations

import numpy as np
import pytest

import cidery
from cidery.encoders import Encoder
from cidery.errors import SettingError

REFERENCES = {"a": ["a dog barks and birds sing", "a dog is barking"], "b": ["a man speaks"]}


@pytest.mark.model
def test_fense_is_a_mean_cosine_times_what_faults_leave(minilm: Encoder) -> None:
    candidates = {"a": "a dog barks and a dog howls and", "b": "a man speaks"}
    plain = cidery.Fense(lens=False, penalty=0, repetition=0)
    table = cidery.score(candidates, REFERENCES, metrics={"plain": plain, "fense": cidery.Fense()})
    own, *others = minilm.embed([candidates["a"], *REFERENCES["a"]]).astype(np.float64)
    assert table.each["plain"][0] == pytest.approx(np.mean(np.stack(others) @ own))
    assert table.each["fense"][1] == pytest.approx(1.0)
    left = cidery.Fense(penalty=0, repetition=0)
    whole = cidery.score(candidates, REFERENCES, metrics=[left]).each["fense"][0]
    assert table.each["fense"][0] == pytest.approx(whole * 0.1 * (1 - 0.25 * 0.25))
    assert "|fluency:rules-2|" in table.signatures["fense"]


@pytest.mark.model
def test_what_people_say_is_no_fault() -> None:
    references = {"a": ["a dog barks and"]}
    assert cidery.score({"a": "a cat meows and"}, references, metrics=["fense"]).corpus[
        "fense"
    ] == pytest.approx(
        cidery.score({"a": "a cat meows and"}, references, metrics=["fense:penalty=0"]).corpus[
            "fense:penalty=0"
        ]
    )


@pytest.mark.model
def test_spider_fl() -> None:
    candidates = {"a": "a dog barks and birds sing and", "b": "a man speaks"}
    metrics = ["spider", "spider-fl", "spider-fl:penalty=0,repetition=0"]
    table = cidery.score(candidates, REFERENCES, metrics=metrics, frequencies="coco-val2014")
    spider, fluent, same = table.each.values()
    assert fluent[0] == pytest.approx(0.1 * spider[0])
    assert fluent[1] == same[1] == spider[1]
    assert same.tobytes() == spider.tobytes()


def test_settings() -> None:
    with pytest.raises(SettingError, match="penalty must lie between 0 and 1"):
        cidery.Fense(penalty=2)
    with pytest.raises(SettingError, match="repetition must lie between 0 and 1"):
        cidery.SpiderFl(repetition=-1)
