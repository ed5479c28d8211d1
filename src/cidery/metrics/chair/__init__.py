"""CHAIR: which of COCO's objects captions name, and which of them are not there."""
