"""One folder per wire protocol: how a request is written, how an answer is read.

Sans I/O. `registry.protocol_of` picks the protocol of an endpoint.
"""
