"""What the training scripts of the SMGCN family print, letter by letter.

Their evaluation prints one array per metric, by cutoff:

    recall=[0.14138	0.22451], precision=[...], F1=[...], RMRR=[...]

Their training prints a line for an epoch and one for the best epoch, and appends a record to a file
of results. The scripts differ in spaces, names, the losses they add up, and in the metric that
chooses the best epoch; each is a `Style`. `smgcn-f1` has F1 in the place of NDCG.
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
PLACES = {"recall": "recall", "precision": "precision", "f1": "F1", "ndcg": "ndcg", "rmrr": "RMRR"}
"""the metrics of the line in their order, and what they are called there"""
ALWAYS = ("recall", "precision", "f1", "rmrr")


def names(asked: Sequence[str] = ()) -> list[str]:
    """The names to evaluate: the metrics of the line at the cutoffs asked; NDCG only if asked."""
    wanted = [_placed(name) for name in parse_all(asked)] if asked else []
    cutoffs = list(dict.fromkeys(name.cutoff for name in wanted)) or CUTOFFS
    metrics = {*ALWAYS, *(name.base for name in wanted)}
    return [f"{metric}@{k}" for metric in PLACES if metric in metrics for k in cutoffs]


def _placed(name: Name) -> Name:
    if name.base not in PLACES or name.variants or name.at is None:
        raise BadName(
            f"the SMGCN line has no place for {str(name)!r}.",
            f"{', '.join(PLACES)} at a cutoff, such as recall@20.",
        )
    return name


def line(evaluation: Evaluation) -> str:
    """The line of one evaluation, made of the names that `names` gives."""
    arrays: dict[str, list[str]] = {}
    for name in names([*evaluation.results, *evaluation.failures]):
        arrays.setdefault(PLACES[name.partition("@")[0]], []).append(written(evaluation, name))
    joined = {name: "\t".join(values) for name, values in arrays.items()}
    return ", ".join(f"{name}=[{values}]" for name, values in joined.items())


def written(evaluation: Evaluation, name: str) -> str:
    """A number as SMGCN writes it, or a word in its place."""
    if name in evaluation.failures:
        return "failed"
    value = evaluation[name]
    return "undefined" if math.isnan(value) else f"{value:.5f}"


def lines(evaluations: Mapping[str, Evaluation]) -> str:
    """The lines of several evaluations, each behind its label."""
    return "".join(f"{label}: {line(one)}\n" for label, one in evaluations.items())


Format = Literal["smgcn", "smgcn-f1", "smgcn-icde", "smgcn-torch-master"]


@dataclass(frozen=True, slots=True)
class Style:
    """How one script prints."""

    epoch: Mapping[str, str]
    """metrics of the line of an epoch, and what stands before the array of each"""
    best: Mapping[str, str]
    """the same of the line of the best epoch"""
    chosen_by: str
    """the metric that chooses the best epoch, at the first of its cutoffs"""
    losses: tuple[str, ...] = ("loss", "mf_loss", "emb_loss", "reg_loss")
    """a sum and its parts"""
    after_losses: str = "]"
    record: str = "{settings}\n\t{best}\n"
    settings: Mapping[str, str] = field(default_factory=dict)
    """how some settings of a record are written"""
    arguments: Mapping[str, object] = field(default_factory=dict)
    """the settings of a record if the script is run without any"""


_LABELS = {"recall": "recall=", "precision": ", precision=", "ndcg": ", ndcg=", "rmrr": ", RMRR="}
_SPACED = {**_LABELS, "ndcg": ",  ndcg="}
_WITH_F1 = {"recall": "recall=", "precision": ", precision=", "f1": ", F1=", "rmrr": ", RMRR="}
_WITHOUT_RMRR = {name: label for name, label in _SPACED.items() if name != "rmrr"}
_TIMED = "time={time}, {settings}\n\t{best}\t"

STYLES: Mapping[str, Style] = {
    "smgcn": Style(_SPACED, _LABELS, "recall", settings={"lr": ".4f"}),
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
    """The style of a format."""
    if form not in STYLES:
        raise unknown_name("format", form, STYLES)
    return STYLES[form]


def epoch_line(epoch: Epoch, style: Style) -> str:
    """The line of an epoch: losses, and each metric at its first and its last cutoff."""
    times = "" if epoch.seconds is None else " [{:.1f}s + {:.1f}s]".format(*epoch.seconds)
    recorded = [f"{epoch.losses[name]:.5f}" for name in style.losses if name in epoch.losses]
    parts = " + ".join(recorded[1:])
    losses = f": train==[{'='.join([*recorded[:1], *([parts] if parts else [])])}"
    first = f"Epoch {epoch.number}{times}" + (losses + style.after_losses if recorded else "")
    ends = {name: _at_cutoffs(epoch.evaluation, name) for name in style.epoch}
    arrays = [f"{label}[{ends[name][0]}, {ends[name][-1]}]" for name, label in style.epoch.items()]
    return f"{first}\n {''.join(arrays)}"


def best_line(epoch: Epoch, style: Style, seconds: float) -> str:
    """The line of the best epoch: its index, how long all took, and each metric at all cutoffs."""
    values = {name: "\t".join(_at_cutoffs(epoch.evaluation, name)) for name in style.best}
    arrays = [f"{label}[{values[name]}]" for name, label in style.best.items()]
    return f"Best Iter=[{epoch.index}]@[{seconds:.1f}]\t{''.join(arrays)}"


def record(best: str, style: Style, settings: Mapping[str, object], time: str) -> str:
    """What is appended to a file of results: the settings, and the line of the best epoch."""
    forms = style.settings
    written = [f"{name}={format(value, forms.get(name, ''))}" for name, value in settings.items()]
    return style.record.format(time=time, settings=", ".join(written), best=best)


def chosen_by(evaluation: Evaluation, style: Style) -> str:
    """The name of the number that chooses the best epoch."""
    return _names(evaluation, style.chosen_by)[0]


def _at_cutoffs(evaluation: Evaluation, metric: str) -> list[str]:
    return [written(evaluation, name) for name in _names(evaluation, metric)]


def _names(evaluation: Evaluation, metric: str) -> list[str]:
    """The numbers of a metric at its cutoffs, in the order asked."""
    there = {name: parse(name)[0] for name in [*evaluation.results, *evaluation.failures]}
    found = [text for text, name in there.items() if str(name) == f"{metric}@{name.at}"]
    if not found:
        raise MissingNeed(
            f"the line has a place for {metric}, which was not evaluated at any cutoff.",
            f"{metric}@{{5,10,15,20}}, for example.",
            f"evaluated: {', '.join(there) or 'nothing'}",
        )
    return found
