"""A trainer that claims the weights of somebody else."""

from apps.training.conductor.protocol import Ended, Ending
from apps.training.conductor.testing import say

say(Ended(Ending.COMPLETED, "", "../../secrets"))
