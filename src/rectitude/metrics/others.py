"""All metrics but the most usual: importing this enters them, which takes a while."""

from rectitude.metrics import (  # noqa: F401
    auc,
    browsing,
    calibration,
    counts,
    derived,
    diversity,
    exposure,
    fairness,
    judgements,
    levels,
    popularity,
    ratings,
    serendipity,
)
