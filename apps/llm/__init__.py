"""The wire protocols of model providers, on one HTTP module.

Pure: no Django, no other app. `ChatClient` is what other apps use; `testing` ships a
scripted local provider.
"""
