"""Which entries of the corpus a kernel can be ported after: facts first, text second."""
