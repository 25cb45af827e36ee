"""PTX text and what it says."""
