"""Talking to an OpenAI-compatible endpoint: requests, answers, transcripts, what they cost."""
