"""A trainer that asks for plans of a task that it was not given."""

import sys

from apps.training.conductor.protocol import Rollouts, SampledPlan
from apps.training.conductor.testing import say

say(Rollouts(1, (SampledPlan("999999-0", "model_id = [0]"),)))
sys.stdin.readline()
