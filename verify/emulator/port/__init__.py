"""Calls of CuTe DSL ports without a GPU: launches end in Python, with their PTX and arguments."""
