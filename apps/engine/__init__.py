"""The engine: turns a planner's answer into parallel calls and one recorded answer.

Pure asyncio. It knows no Django, no database, no HTTP: what it needs from outside is
written down as protocols in `ports.py`. `conduct` in `conduct.py` is the way in.
"""
