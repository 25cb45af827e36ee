"""Which entries of the corpus a kernel can be ported after: facts first, text second."""

from translator.retrieval.rank import Exemplar, exemplars
from translator.retrieval.read import Query, queries, query_of

__all__ = ["Exemplar", "Query", "exemplars", "queries", "query_of"]
