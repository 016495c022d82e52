"""Used by every app: ids, errors, encryption, team scoping. Imports no app."""
