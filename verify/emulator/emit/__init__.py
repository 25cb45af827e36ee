"""PTX functions → C text."""
