"""The exact output of the training scripts of the SMGCN family.

Their evaluation prints one array per metric, by cutoff:

    recall=[0.14138	0.22451], precision=[...], ndcg=[...], RMRR=[...]

Their training prints a line for each epoch and one for the best epoch, and appends a record to a
result file. The scripts differ in spaces, names, the losses they add up, and the metric by
which the best epoch is selected; each is a `Style`. `smgcn-f1` prints F1 instead of NDCG. A name
means the same script here, on the command line and as a profile.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from rectitude.aggregate.evaluation import Evaluation
from rectitude.errors import BadName, MissingNeed, unknown_name
from rectitude.metrics.names import Name, parse, parse_all

if TYPE_CHECKING:
    from rectitude.reports.history import Epoch

CUTOFFS = (5, 10, 15, 20)
LABELS = {"recall": "recall", "precision": "precision", "f1": "F1", "ndcg": "ndcg", "rmrr": "RMRR"}
"""the metrics of the line in their order, and their names in the line"""


def names(form: str = "smgcn", asked: Sequence[str] = ()) -> list[str]:
    """Return the metrics that a script prints, and those asked for, at the cutoffs asked for."""
    parsed = [_require_printable(name) for name in parse_all(asked)] if asked else []
    cutoffs = list(dict.fromkeys(name.cutoff for name in parsed)) or CUTOFFS
    metrics = {*style_of(form).best, *(name.base for name in parsed)}
    return [f"{metric}@{k}" for metric in LABELS if metric in metrics for k in cutoffs]


def _require_printable(name: Name) -> Name:
    if name.base not in LABELS or name.variants or name.at is None:
        raise BadName(
            f"the SMGCN line cannot show {str(name)!r}.",
            f"one of {', '.join(LABELS)} at a cutoff, such as recall@20.",
        )
    return name


def line(evaluation: Evaluation) -> str:
    """Return the line of one evaluation of the metrics that `names` returns."""
    arrays: dict[str, list[str]] = {}
    for name in [*evaluation.results, *evaluation.failures]:
        arrays.setdefault(_require_printable(parse(name)[0]).base, []).append(name)
    values = {
        LABELS[metric]: "\t".join(format_number(evaluation, name) for name in arrays[metric])
        for metric in LABELS
        if metric in arrays
    }
    return ", ".join(f"{label}=[{array}]" for label, array in values.items())


def format_number(evaluation: Evaluation, name: str) -> str:
    """Format a number as SMGCN does; failed and undefined values are words."""
    if name in evaluation.failures:
        return "failed"
    value = evaluation[name]
    return "undefined" if math.isnan(value) else f"{value:.5f}"


def lines(evaluations: Mapping[str, Evaluation]) -> str:
    """Return the lines of several evaluations, each after its label."""
    return "".join(f"{label}: {line(run)}\n" for label, run in evaluations.items())


Format = Literal["smgcn", "smgcn-f1", "smgcn-icde", "smgcn-torch-master"]
LINES = ("smgcn", "smgcn-f1")
"""The scripts whose line the command line prints; each is a profile of the same name."""


@dataclass(frozen=True, slots=True)
class Style:
    """How one script prints."""

    epoch: Mapping[str, str]
    """metrics in the line of an epoch, and the text before the array of each"""
    best: Mapping[str, str]
    """the same for the line of the best epoch"""
    chosen_by: str
    """the metric by which the best epoch is selected, at the first of its cutoffs"""
    losses: tuple[str, ...] = ("loss", "mf_loss", "emb_loss", "reg_loss")
    """the total loss and its terms"""
    after_losses: str = "]"
    record: str = "{settings}\n\t{best}\n"
    settings: Mapping[str, str] = field(default_factory=dict)
    """the number formats of some settings in a record"""
    arguments: Mapping[str, object] = field(default_factory=dict)
    """the default settings of the script"""


_PREFIXES = {"recall": "recall=", "precision": ", precision=", "ndcg": ", ndcg=", "rmrr": ", RMRR="}
_SPACED = {**_PREFIXES, "ndcg": ",  ndcg="}
_WITH_F1 = {"recall": "recall=", "precision": ", precision=", "f1": ", F1=", "rmrr": ", RMRR="}
_WITHOUT_RMRR = {name: label for name, label in _SPACED.items() if name != "rmrr"}
_TIMED = "time={time}, {settings}\n\t{best}\t"

STYLES: Mapping[str, Style] = {
    "smgcn": Style(_SPACED, _PREFIXES, "recall", settings={"lr": ".4f"}),
    "smgcn-f1": Style(
        _WITH_F1,
        _WITH_F1,
        "recall",
        losses=("loss", "mf_loss", "emb_loss", "reg_loss", "cl_loss"),
        settings={"lr": ".4f"},
    ),
    "smgcn-icde": Style(
        _WITHOUT_RMRR,
        _WITHOUT_RMRR,
        "precision",
        after_losses=" ]",
        record=_TIMED,
        arguments={
            "fusion": "add", "embed_size": 64, "lr": 0.01, "layer_size": "[64]",
            "mess_dropout": "[0.1]", "regs": "[1e-5,1e-5,1e-2]", "adj_type": "norm",
        },
    ),
    "smgcn-torch-master": Style(
        _SPACED,
        {**_SPACED, "rmrr": ", rmrr="},
        "precision",
        after_losses=" ]",
        record=_TIMED,
        arguments={
            "fusion": "add", "embed_size": 64, "lr": 0.0002, "layer_size": "[128,256]",
            "mess_dropout": "[0.0,0.0]", "regs": "[7e-3]", "adj_type": "norm",
        },
    ),
}  # fmt: skip


def style_of(form: str) -> Style:
    """Return the style of a format."""
    if str(form) not in STYLES:
        raise unknown_name("format", str(form), STYLES)
    return STYLES[str(form)]


def epoch_line(epoch: Epoch, style: Style) -> str:
    """Return the line of an epoch: losses, and each metric at its first and last cutoff."""
    times = "" if epoch.seconds is None else " [{:.1f}s + {:.1f}s]".format(*epoch.seconds)
    recorded = [f"{epoch.losses[name]:.5f}" for name in style.losses if name in epoch.losses]
    terms = " + ".join(recorded[1:])
    losses = f": train==[{'='.join([*recorded[:1], *([terms] if terms else [])])}"
    first = f"Epoch {epoch.number}{times}" + (losses + style.after_losses if recorded else "")
    ends = {name: _at_cutoffs(epoch.evaluation, name) for name in style.epoch}
    arrays = [f"{label}[{ends[name][0]}, {ends[name][-1]}]" for name, label in style.epoch.items()]
    return f"{first}\n {''.join(arrays)}"


def best_line(epoch: Epoch, style: Style, seconds: float) -> str:
    """Return the line of the best epoch: its index, the total time, and metrics at all cutoffs."""
    values = {name: "\t".join(_at_cutoffs(epoch.evaluation, name)) for name in style.best}
    arrays = [f"{label}[{values[name]}]" for name, label in style.best.items()]
    return f"Best Iter=[{epoch.index}]@[{seconds:.1f}]\t{''.join(arrays)}"


def record(best: str, style: Style, settings: Mapping[str, object], time: str) -> str:
    """Return what is appended to a result file: the settings, and the line of the best epoch."""
    forms = style.settings
    written = [f"{name}={format(value, forms.get(name, ''))}" for name, value in settings.items()]
    return style.record.format(time=time, settings=", ".join(written), best=best)


def selection_metric(evaluation: Evaluation, style: Style) -> str:
    """Return the name of the metric by which the best epoch is selected."""
    return _names(evaluation, style.chosen_by)[0]


def _at_cutoffs(evaluation: Evaluation, metric: str) -> list[str]:
    return [format_number(evaluation, name) for name in _names(evaluation, metric)]


def _names(evaluation: Evaluation, metric: str) -> list[str]:
    """Return the names of a metric at its cutoffs, in the order of the evaluation."""
    evaluated = {name: parse(name)[0] for name in [*evaluation.results, *evaluation.failures]}
    matches = [text for text, name in evaluated.items() if str(name) == f"{metric}@{name.at}"]
    if not matches:
        raise MissingNeed(
            f"the line shows {metric}, but {metric} was not evaluated at any cutoff.",
            f"{metric} at one or more cutoffs, such as {metric}@{{5,10,15,20}}.",
            f"evaluated: {', '.join(evaluated) or 'nothing'}",
        )
    return matches
