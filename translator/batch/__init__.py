"""Many translation units at once: child processes and what comes back from them."""
