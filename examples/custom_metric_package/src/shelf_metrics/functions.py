"""A metric as a function of judged lists."""

import rectitude as rt
from rectitude.judge.judged import Judged
from rectitude.metrics import Ratio


@rt.metric(
    "Enough hits",
    formula="1 if at least {least} relevant items stand in the top {k}",
    reading="0.3 means that 30% of the users find that many.",
    breaks=("perfect_is_best",),  # the truth may hold fewer
    reach="cutoff",
)
def enough(lists: Judged, k: int | None, *, least: float = 2.0) -> Ratio:
    """Whether a user finds several things they want."""
    return Ratio.of((lists.hits(k) >= least).astype(float))
