"""In the manner of vision-language harnesses: a dataset dict, createIndex, loadRes of a list."""

import json
import sys
from pathlib import Path

from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.eval import COCOEvalCap
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer
from pycocotools.coco import COCO

folder = Path(sys.argv[1])
references = json.loads((folder / "references.json").read_text())["annotations"]
answers = json.loads((folder / "results.json").read_text())

stored_results = []
dataset = {"annotations": [], "images": []}
for answer in answers:
    stored_results.append({"image_id": answer["image_id"], "caption": answer["caption"]})
    dataset["images"].append({"id": answer["image_id"]})
for number, reference in enumerate(references):
    dataset["annotations"].append(
        {"image_id": reference["image_id"], "caption": reference["caption"], "id": number}
    )

coco = COCO()
coco.dataset = dataset
coco.createIndex()
coco_result = coco.loadRes(stored_results)
coco_eval = COCOEvalCap(coco, coco_result)

gts, res = {}, {}
for image_id in coco_eval.params["image_id"]:
    gts[image_id] = coco_eval.coco.imgToAnns[image_id]
    res[image_id] = coco_eval.cocoRes.imgToAnns[image_id]

tokenizer = PTBTokenizer()
gts = tokenizer.tokenize(gts)
res = tokenizer.tokenize(res)

scorers = [
    (Bleu(4), ["Bleu_1", "Bleu_2", "Bleu_3", "Bleu_4"]),
    (Rouge(), "ROUGE_L"),
    (Cider(), "CIDEr"),
]
for scorer, names in scorers:
    score, scores = scorer.compute_score(gts, res)
    if isinstance(names, list):
        for name, of_corpus, of_images in zip(names, score, scores, strict=True):
            coco_eval.setEval(of_corpus, name)
            coco_eval.setImgToEvalImgs(of_images, gts.keys(), name)
    else:
        coco_eval.setEval(score, names)
        coco_eval.setImgToEvalImgs(scores, gts.keys(), names)
coco_eval.setEvalImgs()

print(json.dumps({"eval": coco_eval.eval, "images": coco_eval.evalImgs, "gts": gts, "res": res}))
