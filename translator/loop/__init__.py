"""A model proposes ports, `verify` decides: turns, feedback, budgets, what is kept."""
