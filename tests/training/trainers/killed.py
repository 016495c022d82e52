"""A trainer that the system ends, as it does where memory runs out."""

import os
import signal
import sys

print("Falcon:", file=sys.stderr)  # noqa: T201
os.kill(os.getpid(), signal.SIGKILL)
