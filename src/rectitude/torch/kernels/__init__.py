"""Counting on a device: ranks, logits, the best columns, and products, without waiting for it.

Each function runs in Triton on CUDA devices and in plain torch elsewhere, with the same integers.
This folder needs torch alone, so that it can be loaded without the rest of the library.
"""

from .choice import choice, choose
from .logits import LogitCounts, count_logits
from .products import count_products, products_among, top_products
from .ranks import RankCounts, count_among, count_ranks
from .top import Top, top_columns

__all__ = [
    "LogitCounts",
    "RankCounts",
    "Top",
    "choice",
    "choose",
    "count_among",
    "count_logits",
    "count_products",
    "count_ranks",
    "products_among",
    "top_columns",
    "top_products",
]
