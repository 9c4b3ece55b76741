"""What the tests of the command line share."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Said(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str
    """stderr, without the lines about file formats"""
    read: str = ""
    """the lines of stderr about file formats"""


Run = Callable[..., Said]

TRUTH = "user,item,grade\nann,a,1\nann,b,3\nbob,c,2\ncid,d,1\n"
GOOD = "user,item,score\nann,a,3\nann,b,2\nann,x,1\nbob,c,3\nbob,y,2\n"
POOR = "user,item,score\nann,x,3\nann,a,2\nann,y,1\nbob,x,3\nbob,c,2\n"
