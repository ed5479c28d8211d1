"""In the manner of self-critical training: rewards of samples, frequencies from a pickle."""

import json
import os
import sys
from pathlib import Path

from pyciderevalcap.cider.cider import Cider
from pyciderevalcap.ciderD.ciderD import CiderD

folder = Path(sys.argv[1])
os.chdir(folder)  # the pickle is data/example-words.p there
scorer = CiderD(df="example-words")
plain = Cider(df="example-words")
corpus_scorer = CiderD(df="corpus")

refs = {}
for annotation in json.loads(Path("references.json").read_text())["annotations"]:
    refs.setdefault(annotation["image_id"], []).append(annotation["caption"].lower())
samples = {
    str(entry["image_id"]): entry["captions"]
    for entry in json.loads(Path("sampled.json").read_text())
}

found = []
batch_size, per_image = 8, 3
images = sorted(samples)[: 3 * batch_size]
for start in range(0, len(images), batch_size):
    batch = images[start : start + batch_size]
    gts, res = {}, []
    for image in batch:
        for sample in samples[image][:per_image]:
            res.append({"image_id": len(res), "caption": [sample.lower()]})
            gts[len(res) - 1] = refs[int(image)]
    _, rewards = scorer.compute_score(gts, res)
    _, plain_rewards = plain.compute_score(gts, res)
    _, corpus_rewards = corpus_scorer.compute_score(gts, res)
    by_image = [
        {"image_id": int(image), "caption": [sample.lower()]}
        for image in batch
        for sample in samples[image][:per_image]
    ]
    mean, again = scorer.compute_score(refs, by_image)
    found.append([list(rewards), list(plain_rewards), list(corpus_rewards), mean, list(again)])

print(json.dumps(found))
