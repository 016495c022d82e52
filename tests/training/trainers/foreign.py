"""A trainer that ends with an exception of a package that is not known."""


class FalconError(Exception):
    pass


raise FalconError("Compute 17 * 7 for Falcon.")
