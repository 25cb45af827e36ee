"""The regression check: targets verified again and compared with what was recorded of them."""
