"""What every app may use: ids, errors, encryption, team scoping. Imports no app."""
