"""Vectors of texts from an OpenAI-compatible endpoint, where the settings name an embedding model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from translator.retrieval.rank import EmbeddingError
from translator.settings import Settings

_MOST = 8_000  # characters of a text that are sent: about two thousand tokens, which every such model takes


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model at `base_url`, "" for the SDK's own. The key comes from OPENAI_API_KEY only."""

    model: str
    base_url: str = ""
    timeout: float = 60.0

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        """A vector for each text. EmbeddingError where the endpoint can't be asked or answers otherwise."""
        import openai

        try:
            with openai.OpenAI(base_url=self.base_url or None, timeout=self.timeout, max_retries=2) as client:
                answer = client.embeddings.create(
                    model=self.model, input=[t[:_MOST] or " " for t in texts], encoding_format="float"
                )
        except openai.OpenAIError as problem:
            raise EmbeddingError(f"{type(problem).__name__}: {problem}".splitlines()[0]) from None
        return [list(d.embedding) for d in sorted(answer.data or (), key=lambda d: d.index)]


def embedder(settings: Settings) -> Endpoint | None:
    """The endpoint that the settings name, None for none."""
    if not settings.embedding_model:
        return None
    return Endpoint(settings.embedding_model, settings.base_url, settings.request_timeout)
