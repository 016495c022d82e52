"""An OpenAI-compatible server of simulated workers and a simulated conductor.

For the demo, the tests and the benchmarks. Needs no key, no GPU and no network, and
imports no other part of the product. The same request always gets the same answer.
"""
