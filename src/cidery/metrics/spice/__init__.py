"""SPICE: scene graphs of objects, attributes and relations (extra `spice`).

tokens --parser--> dependency tree --tree_repairs--> tree --tuple_rules--> SceneGraph
candidate's graph + references' graphs --matching--> SceneComparison
"""
