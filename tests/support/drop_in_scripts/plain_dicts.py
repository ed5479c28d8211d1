"""In the manner of scripts that tokenize for themselves: dicts in, numbers out."""

import json
import sys
from pathlib import Path

from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.bleu.bleu_scorer import BleuScorer
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.cider.cider_scorer import CiderScorer
from pycocoevalcap.rouge.rouge import Rouge

folder = Path(sys.argv[1])
refs, hyps = {}, {}
for annotation in json.loads((folder / "references.json").read_text())["annotations"]:
    refs.setdefault(str(annotation["image_id"]), []).append(annotation["caption"].lower())
for result in json.loads((folder / "results.json").read_text()):
    hyps[str(result["image_id"])] = [result["caption"].lower()]
refs = {image: refs[image] for image in hyps}

found = {}
for scorer, name in [(Bleu(4), "bleu"), (Bleu(2), "bleu2"), (Rouge(), "rouge"), (Cider(), "cider")]:
    score, scores = scorer.compute_score(refs, hyps)
    found[name] = [score, [list(s) for s in scores] if "bleu" in name else list(scores)]
    found[name + " method"] = scorer.method()

narrow = Cider(n=4, sigma=2.0)
found["narrow"] = narrow.compute_score(refs, hyps)[0]

cider_scorer = CiderScorer(n=4, sigma=6.0)
bleu_scorer = BleuScorer(n=4)
for image in refs:
    cider_scorer += (hyps[image][0], refs[image])
    bleu_scorer += (hyps[image][0], refs[image])
score, scores = cider_scorer.compute_score()
found["incremental cider"] = [score, list(scores), cider_scorer.size()]
for option in ("shortest", "average", "closest"):
    found["incremental bleu " + option] = bleu_scorer.copy().compute_score(option=option)

print(json.dumps(found))
