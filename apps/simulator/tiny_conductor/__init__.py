"""A real language model, small enough for a CPU without torch: `tiny-conductor`.

A Qwen2 forward pass in numpy, over weights that a training of this site left. It says
what its weights say, to any prompt; nothing here knows what a plan is. Modules that
need numpy are imported with the first request for the model.
"""
