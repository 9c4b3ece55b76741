"""The options that name what is looked at, for the verbs that look at one metric.

They are those of `rectitude evaluate`, declared once: a verb made `with_files` has all of them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from rectitude.cli.inputs import Inputs, opened, source
from rectitude.cli.options import Json, pairs
from rectitude.errors import BadName


def _option(metavar: str, words: str) -> Any:
    return typer.Option(metavar=metavar, help=words)


def _file(words: str) -> Any:
    return _option("FILE", words)


MetricName = Annotated[str, typer.Option("--metric", metavar="NAME", help="Such as ndcg@10.")]
OneFile = Annotated[
    str | None, typer.Argument(metavar="FILE", help="Ranked lists: user, item, score.")
]
Columns = Annotated[
    list[str] | None, _option("ROLE=COLUMN ...", "Unusual columns, such as user=visitor.")
]
Profiles = Annotated[
    list[str] | None, _option("NAME ...", "Only these profiles, not all that have the metric.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """What these options say."""

    truth: Annotated[
        str | None, _file("What was relevant: user, item, and a grade if there is one.")
    ] = None
    scores: Annotated[
        list[str] | None, _option("FILE ...", "Dense scores, users x items (.npy or .npz).")
    ] = None
    logits: Annotated[
        list[str] | None, _option("FILE ...", "Logits, rows x classes (.npy or .npz).")
    ] = None
    targets: Annotated[str | None, _file("The class of each row of logits (.npy).")] = None
    train: Annotated[
        str | None, _file("Training data: what is known, and masked in dense scores.")
    ] = None
    candidates: Annotated[
        str | None, _file("What competes: user, item, or a file of rectitude candidates.")
    ] = None
    ranking: Annotated[
        str | None, _file("An order to use in place of the scores' own: user, item, rank.")
    ] = None
    score_users: Annotated[str | None, _file("The user of each row of scores, in order.")] = None
    score_items: Annotated[str | None, _file("The item of each column of scores.")] = None
    padding: Annotated[str | None, _option("ITEM", "The item of a column that means nothing.")] = (
        None
    )
    items: Annotated[str | None, _file("The catalogue, with facts about items.")] = None
    users: Annotated[str | None, _file("The users to evaluate, with facts about them.")] = None
    weights: Annotated[str | None, _file("The weight of each list.")] = None
    list_key: Annotated[str, _option("COLUMN", "What tells lists apart, such as session.")] = "user"
    columns: Columns = None
    as_json: Json = False
    output: Annotated[Path | None, _file("Write there instead of printing.")] = None

    def opened(self, lists: Sequence[str], other: str | None = None) -> tuple[dict[str, Any], Any]:
        """Predictions by label, and the truth; `other` are more predictions of the same kind."""
        more = [] if other is None else [other]
        named = [[*given, *more] if given else [] for given in (lists, self.scores, self.logits)]
        rest = (self.truth, self.targets, self.score_users, self.score_items)
        return opened(Inputs(named[0], named[1], named[2], *rest, padding=self.padding))

    def one_opened(self, lists: str | None) -> tuple[Any, Any]:
        """The predictions and the truth, for a verb that looks at one of them."""
        found, truth = self.opened([] if lists is None else [lists])
        if len(found) > 1:
            raise BadName(f"{len(found)} predictions were named: {', '.join(found)}.", "one.")
        return next(iter(found.values())), truth

    def given(self) -> dict[str, Any]:
        """The rest, as `evaluate` takes it."""
        return {
            "train": source(self.train), "items": source(self.items), "users": source(self.users),
            "weights": source(self.weights), "list_key": self.list_key,
            "columns": pairs(self.columns or (), "--columns", "user=visitor"),
            "candidates": source(self.candidates), "ranking": source(self.ranking),
        }  # fmt: skip

    def deliver(self, found: Any, form: str = "table") -> None:
        """Print what was found, or write it where it should go; a form other than a table is what
        `to_<form>` gives."""
        text = found.to_json() if self.as_json else str(found)
        self.write(getattr(found, f"to_{form}")() if form != "table" else text)

    def write(self, text: str) -> None:
        """Print a text, or write it where it should go."""
        from rectitude.storage import write_text

        text = text.rstrip("\n")
        if self.output is None:
            typer.echo(text)
        else:
            write_text(self.output, f"{text}\n")


def with_files(verb: Callable[..., int], without: Sequence[str] = ()) -> Callable[..., int]:
    """A verb with the options of `Files` beside its own; it gets them as `files`."""
    own, every = (inspect.signature(one, eval_str=True).parameters for one in (verb, Files))
    shared = {name: option for name, option in every.items() if name not in without}

    @wraps(verb)
    def run(**values: Any) -> int:
        files = Files(**{name: values.pop(name) for name in shared})
        _require_writable(files.output)
        return verb(**values, files=files)

    kept = [parameter for name, parameter in own.items() if name != "files"]
    vars(run)["__signature__"] = inspect.Signature([*kept, *shared.values()])
    return run


def with_groups(verb: Callable[..., int], **groups: Callable[..., Any]) -> Callable[..., int]:
    """A verb with the options of these classes beside its own; it gets one of each, by name."""
    own = inspect.signature(verb, eval_str=True).parameters
    options = {
        name: inspect.signature(group, eval_str=True).parameters for name, group in groups.items()
    }

    @wraps(verb)
    def run(**values: Any) -> int:
        made = {n: groups[n](**{o: values.pop(o) for o in options[n]}) for n in groups}
        return verb(**values, **made)

    kept = [option for name, option in own.items() if name not in groups]
    more = [option for of in options.values() for option in of.values()]
    vars(run)["__signature__"] = inspect.Signature([*kept, *more])
    return run


def _require_writable(output: Path | None) -> None:
    """Refuse what cannot be written before anything is computed."""
    if output is not None and (output.is_dir() or not output.parent.is_dir()):
        raise BadName(f"--output {output} cannot be written.", "a file in a folder that exists.")


def profiles_of(named: Sequence[str] | None) -> list[str] | None:
    """The profiles that an option names, with spaces or commas between them."""
    if named is None:
        return None
    return [name for word in named for name in word.split(",") if name]
