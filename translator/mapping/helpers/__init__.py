"""Small DSL functions that a port inlines when it uses them: one function to a file, named like it."""
