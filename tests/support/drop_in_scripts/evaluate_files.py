"""In the manner of the original example: a file, loadRes of a file, evaluate()."""

import json
import sys
from pathlib import Path

from pycocoevalcap.eval import COCOEvalCap
from pycocotools.coco import COCO

folder = Path(sys.argv[1])
coco = COCO(str(folder / "references.json"))
coco_result = coco.loadRes(str(folder / "results.json"))

coco_eval = COCOEvalCap(coco, coco_result)
coco_eval.params["image_id"] = coco_result.getImgIds()
coco_eval.evaluate()

for metric, score in coco_eval.eval.items():
    print(f"{metric}: {score:.3f}")
print(json.dumps({"eval": coco_eval.eval, "images": list(coco_eval.imgToEval.values())}))
