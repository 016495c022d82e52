"""A trainer that says what is no message."""

import sys

sys.stdout.write("epoch 1: loss 0.3, and a secret prompt\n")
sys.stdout.flush()
sys.stdin.readline()
