"""Coded diagnostics: what was refused, changed or approximated, and where."""
