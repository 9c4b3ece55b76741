"""The step that puts rows in another order."""

from __future__ import annotations

from typing import Literal

import numpy as np

from rectitude.data.log import ROW, Log
from rectitude.prepare.order import Ties, by_time


def sort_rows(
    log: Log,
    *,
    order: Literal["time", "file", "file_backwards"] = "time",
    ties: Ties = "content",
    no_times: Literal["error", "as_is"] = "error",
) -> Log:
    """The same rows in the order of time, or in that of the source, from its last row if wanted.

    Steps and splits that go by the order of the log go by this one afterwards. `no_times` "as_is"
    leaves a log without timestamps as it is.
    """
    if order != "time":
        return log.with_frame(log.frame.sort(ROW, descending=order == "file_backwards"))
    if no_times == "as_is" and "timestamp" not in log.frame.columns:
        return log
    log.require("timestamp", "sort_rows")
    rows = np.empty(log.frame.height, np.uint32)
    rows[by_time(log, "all", ties).before] = np.arange(log.frame.height, dtype=np.uint32)
    return log.with_frame(log.frame[rows])
