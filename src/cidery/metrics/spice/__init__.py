"""Captions as scene graphs: what is there, what it is like, how things relate (extra `spice`).

words --pipeline--> dependency tree --repairs--> tree --rules--> SceneGraph
candidate's graph + references' graphs --matching--> Comparison
"""
