"""Red team: a search for nonsense captions that a reward does not punish."""

from cidery.rewards.redteam.attacks import red_team
from cidery.rewards.redteam.nonsense import NONSENSE_KINDS, Nonsense
from cidery.rewards.redteam.results import ATTACKS, Attack, RedTeam

__all__ = ["ATTACKS", "NONSENSE_KINDS", "Attack", "Nonsense", "RedTeam", "red_team"]
