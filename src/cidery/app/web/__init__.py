"""The web app that `cidery serve` runs: what its two wings, studies and challenges, stand on.

The wings are Django apps named in `settings.WINGS`; nothing here imports them.
"""
