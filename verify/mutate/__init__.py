"""Mutants of a port: what a verification must catch if it is to be believed."""
