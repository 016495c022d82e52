"""A trainer whose plans lose their variety, and whose figures are no numbers."""

import sys

from apps.training.conductor.protocol import Ended, Ending
from apps.training.conductor.testing import say

sys.stdout.write('{"say": "progress", "stage": "grpo", "step": 1, "of": 9, ')
sys.stdout.write('"reward": NaN}\n')
say(Ended(Ending.COLLAPSED, "the entropy was below 0.005\0 for 10 iterations"))
