"""The options that name what is evaluated, declared once for all verbs, and what they open:
ranked lists, dense scores or logits by label, the truth, and tables beside them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli.options import Json, file_option, labelled, named_format, pairs, valued
from rectitude.cli.output import told
from rectitude.errors import BadName, UnreadableFile

if TYPE_CHECKING:
    from rectitude.data.table import What

MetricName = Annotated[str, typer.Option("--metric", metavar="NAME", help="Such as ndcg@10.")]
OneFile = Annotated[
    str | None, typer.Argument(metavar="FILE", help="Ranked lists: user, item, score.")
]
Columns = Annotated[
    list[str] | None, valued("ROLE=COLUMN ...", "Unusual columns, such as user=visitor.")
]
Profiles = Annotated[
    list[str] | None, valued("NAME ...", "Only these profiles, not all that have the metric.")
]
Truth = Annotated[
    str | None, file_option("What was relevant: user, item, and a grade if there is one.")
]
ScoreFiles = Annotated[
    list[str] | None, valued("FILE ...", "Dense scores, users x items (.npy or .npz).")
]
LogitFiles = Annotated[
    list[str] | None, valued("FILE ...", "Logits, rows x classes (.npy or .npz).")
]
Targets = Annotated[str | None, file_option("The class of each row of logits (.npy).")]
Train = Annotated[
    str | None, file_option("Training data: what is known, and masked in dense scores.")
]
CandidateFile = Annotated[
    str | None, file_option("What competes: user, item, or a file of rectitude candidates.")
]
Ranking = Annotated[
    str | None, file_option("An order to use in place of the scores' own: user, item, rank.")
]
ScoreUsers = Annotated[str | None, file_option("The user of each row of scores, in order.")]
ScoreItems = Annotated[str | None, file_option("The item of each column of scores.")]
Padding = Annotated[str | None, valued("ITEM", "The item of a column that means nothing.")]
Items = Annotated[str | None, file_option("The catalogue, with facts about items.")]
Users = Annotated[str | None, file_option("The users to evaluate, with facts about them.")]
Weights = Annotated[str | None, file_option("The weight of each list.")]
ListKey = Annotated[str, valued("COLUMN", "What tells lists apart, such as session.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """What a verb made `with_files` looks at, and where its answer goes."""

    truth: Truth = None
    scores: ScoreFiles = None
    logits: LogitFiles = None
    targets: Targets = None
    train: Train = None
    candidates: CandidateFile = None
    ranking: Ranking = None
    score_users: ScoreUsers = None
    score_items: ScoreItems = None
    padding: Padding = None
    items: Items = None
    users: Users = None
    weights: Weights = None
    list_key: ListKey = "user"
    columns: Columns = None
    as_json: Json = False
    output: Annotated[Path | None, file_option("Write there instead of printing.")] = None

    def opened(self, lists: Sequence[str], other: str | None = None) -> tuple[dict[str, Any], Any]:
        """Predictions by label, and the truth; `other` are more predictions of the same kind."""
        more = [] if other is None else [other]
        named = [[*given, *more] if given else [] for given in (lists, self.scores, self.logits)]
        rest = (self.truth, self.targets, self.score_users, self.score_items)
        return opened(CommandInputs(named[0], named[1], named[2], *rest, padding=self.padding))

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
        require_writable("--output", files.output)
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


def require_writable(option: str, path: Path | None) -> None:
    """Refuse what cannot be written before anything is computed."""
    if path is not None and (path.is_dir() or not path.parent.is_dir()):
        raise BadName(f"{option} {path} cannot be written.", "a file in a folder that exists.")


def profiles_of(named: Sequence[str] | None) -> list[str] | None:
    """The profiles that an option names, with spaces or commas between them."""
    if named is None:
        return None
    return [name for word in named for name in word.split(",") if name]


@dataclass(frozen=True, slots=True)
class CommandInputs:
    """The files that were named on the command line."""

    predictions: Sequence[str] = ()
    scores: Sequence[str] = ()
    logits: Sequence[str] = ()
    truth: str | None = None
    targets: str | None = None
    score_users: str | None = None
    score_items: str | None = None
    train_targets: str | None = None
    baselines: bool = False
    padding: str | None = None


def opened(inputs: CommandInputs) -> tuple[dict[str, Any], Any]:
    """Predictions by label, and the truth they are evaluated against."""
    kinds = {
        "--predictions": inputs.predictions, "--scores": inputs.scores, "--logits": inputs.logits,
    }  # fmt: skip
    asked = [name for name, files in kinds.items() if files]
    if len(asked) != 1:
        raise BadName(
            f"{' and '.join(asked)} were given." if asked else "nothing to evaluate was given.",
            f"one of {', '.join(kinds)}.",
            "see: rectitude evaluate --help",
        )
    if asked == ["--logits"]:
        return _logits(inputs)
    _require("--truth", inputs.truth, asked[0])
    _refuse({"--targets": inputs.targets, "--train-targets": inputs.train_targets}, asked[0])
    if inputs.baselines:
        raise BadName("--baselines was given, and there are no logits.", "--logits and --targets.")
    truth = source(inputs.truth)
    if asked == ["--predictions"]:
        _refuse(_of_scores(inputs), asked[0])
        return {
            label: ranked_lists(file) for label, file in labelled(inputs.predictions).items()
        }, truth
    return _scores(inputs), truth


def _scores(inputs: CommandInputs) -> dict[str, Any]:
    from rectitude.predictions.scores import Scores

    users = _ids(inputs.score_users, "users", "list")
    items = _ids(inputs.score_items, "items", "item")
    return {
        label: Scores(file, users=users, items=items, padding=_padding(inputs, file, items))
        for label, file in labelled(inputs.scores).items()
    }


def _padding(inputs: CommandInputs, file: str, items: Any) -> Any:
    """The padding item in the type of the items: a number where they are numbers."""
    if inputs.padding is None or not inputs.padding.isdecimal():
        return inputs.padding
    if items is None and Path(file).suffix == ".npz":
        from rectitude.data.matrices import load

        items = load(file).get("items")
    text = items is not None and str(items.dtype).startswith(("String", "<U", "object"))
    return inputs.padding if text else int(inputs.padding)


def _ids(path: str | None, what: What, role: str) -> Any:
    """The ids in a file, in order; as numbers where untyped text holds nothing else."""
    from rectitude.data.ids import whole_numbers
    from rectitude.data.read import read

    if path is None:
        return None
    table = read(source(path), what)
    ids = table.frame[role]
    numbers = whole_numbers(ids) if table.text else None
    return ids if numbers is None else numbers


def _logits(inputs: CommandInputs) -> tuple[dict[str, Any], Any]:
    from rectitude.predictions.logits import Logits

    _require("--targets", inputs.targets, "--logits")
    _refuse({"--truth": inputs.truth, **_of_scores(inputs)}, "--logits")
    targets = array(str(inputs.targets))
    found: dict[str, Any] = {label: Logits(file) for label, file in labelled(inputs.logits).items()}
    if inputs.baselines:
        opened_first = next(iter(found.values())).opened()
        known = inputs.train_targets
        learned = targets if known is None else array(known)
        name = "majority" if known is not None else "majority of these targets"
        found[name] = Logits.majority(learned, opened_first.columns, opened_first.rows)
        found["random"] = Logits.random(opened_first.rows, opened_first.columns)
    elif inputs.train_targets is not None:
        raise BadName("--train-targets serves the majority baseline.", "--baselines with it.")
    return found, targets


def _of_scores(inputs: CommandInputs) -> dict[str, object]:
    """The options that belong to dense scores."""
    return {
        "--score-users": inputs.score_users,
        "--score-items": inputs.score_items,
        "--padding": inputs.padding,
    }


def _require(option: str, value: str | None, kind: str) -> None:
    if value is None:
        raise BadName(f"{kind} was given without {option}.", f"both {kind} and {option}.")


def _refuse(options: Mapping[str, object], kind: str) -> None:
    for option, value in options.items():
        if value is not None:
            raise BadName(f"{option} was given, and it does not go with {kind}.")


def ranked_lists(word: str) -> Any:
    """Ranked lists by their path, and by their format if the word names one."""
    from rectitude.predictions.lists import Lists

    form, file = named_format(word)
    return Lists(file, format=form) if form else file


def source(path: str | None) -> Any:
    """A table by its path, and by its format if the word names one; a sparse matrix (.npz) or an
    array (.npy) as such."""
    if path is None:
        return None
    form, file = named_format(path)
    if form:
        from rectitude.data.table import Interactions

        return Interactions(file, format=form)
    suffix = Path(path).suffix
    if suffix in (".npy", ".npz"):
        what = "an array" if suffix == ".npy" else "csr"
        told(f"read {Path(path).name} as {what} (its name ends in {suffix})")
    if suffix == ".npy":
        return array(path)
    if suffix != ".npz":
        return path
    from scipy.sparse import load_npz

    try:
        return load_npz(path)
    except (OSError, ValueError, KeyError) as error:
        raise UnreadableFile(
            f"{path} cannot be read as a sparse matrix: {str(error).rstrip('.')}.",
            "a file written by scipy.sparse.save_npz.",
        ) from error


def array(path: str) -> Any:
    """The one array in a NumPy file."""
    from rectitude.data.matrices import load

    arrays = load(path)
    if len(arrays) != 1:
        raise UnreadableFile(f"{path} holds {', '.join(sorted(arrays))}.", "one array.")
    return next(iter(arrays.values()))
