"""A server of simulated workers and a simulated conductor, over three wire protocols.

OpenAI's chat completions, Anthropic's messages and Gemini's generateContent, all with
the same models and faults (`models.py`, `faults.py`). For the demo, the tests and the
benchmarks. Needs no key, no GPU and no network, and imports no other part of the
product. The same request always gets the same answer.
"""
