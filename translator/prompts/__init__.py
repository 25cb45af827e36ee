"""What a model is told: Jinja2 templates over frozen data."""
