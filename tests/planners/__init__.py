"""Tests of the planners: no network, no database, milliseconds each."""
