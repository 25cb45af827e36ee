"""Runs PTX on the CPU: PTX → C → the system's C compiler → a shared object, one fiber per GPU thread."""
