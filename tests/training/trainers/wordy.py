"""A trainer whose error quotes a prompt, and whose type nobody knows."""


class FalconError(Exception):
    pass


try:
    raise FalconError("Compute 17 * 7 for Falcon.")
except FalconError as error:
    raise ValueError("Compute 17 * 7\nfor Falcon: 119") from error
