"""What the installed DSL and the corpus's blocks really have, and names that they have not."""
