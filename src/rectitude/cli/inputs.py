"""The options for input files, shared by all commands, and the code that opens the files.

Inputs are ranked lists, dense scores or logits by label, the truth, and further tables.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rectitude.cli.options import Json, file_option, label_paths, pairs, split_format, value_option
from rectitude.cli.output import log_reading, say
from rectitude.errors import BadArgument, UnreadableFile, UnwritableFile

if TYPE_CHECKING:
    from rectitude.data.table import What

MetricName = Annotated[
    str, typer.Option("--metric", metavar="NAME", help="The metric, such as ndcg@10.")
]
OneFile = Annotated[
    str | None, typer.Argument(metavar="FILE", help="Ranked lists: user, item, score.")
]
Columns = Annotated[
    list[str] | None,
    value_option("ROLE=COLUMN ...", "Columns with unusual names, such as user=visitor."),
]
Profiles = Annotated[
    list[str] | None,
    value_option("NAME ...", "Only these profiles; by default, all that define the metric."),
]
Truth = Annotated[
    str | None, file_option("The ground truth: user, item, and a grade if there is one.")
]
ScoreFiles = Annotated[
    list[str] | None, value_option("FILE ...", "Dense scores, users x items (.npy or .npz).")
]
LogitFiles = Annotated[
    list[str] | None, value_option("FILE ...", "Logits, rows x classes (.npy or .npz).")
]
Targets = Annotated[str | None, file_option("The target class of each row of logits (.npy).")]
Train = Annotated[
    str | None, file_option("Training data; a user's training items are masked in dense scores.")
]
Seen = Annotated[
    str | None,
    file_option("What users have seen: masked in place of the training data."),
]
CandidateFile = Annotated[
    str | None, file_option("Candidate items: user, item; or a file from rectitude candidates.")
]
Ranking = Annotated[
    str | None, file_option("A ranking to use instead of the scores: user, item, rank.")
]
ScoreUsers = Annotated[str | None, file_option("The user of each row of scores, in order.")]
ScoreItems = Annotated[str | None, file_option("The item of each column of scores.")]
Padding = Annotated[str | None, value_option("ITEM", "The padding item, whose column is ignored.")]
Items = Annotated[str | None, file_option("The catalogue, with item attributes.")]
Users = Annotated[str | None, file_option("The users to evaluate, with their attributes.")]
Weights = Annotated[str | None, file_option("The weight of each list.")]
Memory = Annotated[
    str | None,
    value_option(
        "SIZE", "Evaluate files that need more memory than this, such as 8GB, part by part."
    ),
]
Unreadable = Annotated[
    str | None,
    value_option(
        "left_out", "Leave out damaged or missing files of a table in many files, and count them."
    ),
]


class EngineName(StrEnum):
    """Who reads the tables and moves their rows."""

    LOCAL = "local"
    SPARK = "spark"
    RAY = "ray"


Engine = Annotated[
    EngineName | None,
    value_option(
        "NAME", "Let spark or ray read the tables, which are paths or, for Spark, names of tables."
    ),
]
ListKey = Annotated[
    str, value_option("COLUMN", "The column that identifies a list, such as session.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The input files of a command, and where its output goes; see `with_files`."""

    truth: Truth = None
    scores: ScoreFiles = None
    logits: LogitFiles = None
    targets: Targets = None
    train: Train = None
    seen: Seen = None
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
    output: Annotated[Path | None, file_option("Write to this file instead of printing.")] = None

    def open(self, lists: Sequence[str], other: str | None = None) -> tuple[dict[str, Any], Any]:
        """Return predictions by label, and the truth; `other` is one more file of the same kind."""
        more = [] if other is None else [other]
        kinds = [[*files, *more] if files else [] for files in (lists, self.scores, self.logits)]
        rest = (self.truth, self.targets, self.score_users, self.score_items)
        return open_inputs(CommandInputs(kinds[0], kinds[1], kinds[2], *rest, padding=self.padding))

    def open_one(self, lists: str | None) -> tuple[Any, Any]:
        """Return the predictions and the truth, for a command that takes one file."""
        opened, truth = self.open([] if lists is None else [lists])
        if len(opened) > 1:
            raise BadArgument(
                f"{len(opened)} prediction files were given: {', '.join(opened)}.", "one file."
            )
        return next(iter(opened.values())), truth

    def as_arguments(self) -> dict[str, Any]:
        """Return the other files as arguments of `evaluate`."""
        return {
            "train": source(self.train), "seen": source(self.seen), "items": source(self.items),
            "users": source(self.users),
            "weights": source(self.weights), "list_key": self.list_key,
            "columns": pairs(self.columns or (), "--columns", "user=visitor"),
            "candidates": source(self.candidates), "ranking": source(self.ranking),
        }  # fmt: skip

    def given(self) -> dict[str, object]:
        """Return the options for input files that were given, by name."""
        outputs = ("as_json", "output")
        options = [option for option in fields(self) if option.name not in outputs]
        return {
            f"--{option.name.replace('_', '-')}": getattr(self, option.name)
            for option in options
            if getattr(self, option.name) != option.default
        }

    def deliver(self, result: Any, form: str = "table") -> None:
        """Print a result or write it to the output file; a form other than a table is the text of
        `result.to_<form>()`."""
        text = result.to_json() if self.as_json else str(result)
        self.write(getattr(result, f"to_{form}")() if form != "table" else text)

    def write(self, text: str) -> None:
        """Print a text or write it to the output file."""
        from rectitude.storage import write_text

        text = text.rstrip("\n")
        if self.output is None:
            say(text)
        else:
            write_text(self.output, f"{text}\n")


def with_files(command: Callable[..., int], without: Sequence[str] = ()) -> Callable[..., int]:
    """Add the options of `Files` to a command, which receives them as `files`."""
    options = inspect.signature(command, eval_str=True).parameters
    file_options = inspect.signature(Files, eval_str=True).parameters
    shared = {name: option for name, option in file_options.items() if name not in without}

    @wraps(command)
    def run(**values: Any) -> int:
        files = Files(**{name: values.pop(name) for name in shared})
        require_writable("--output", files.output)
        return command(**values, files=files)

    others = [option for name, option in options.items() if name != "files"]
    vars(run)["__signature__"] = inspect.Signature([*others, *shared.values()])
    return run


def with_groups(command: Callable[..., int], **groups: Callable[..., Any]) -> Callable[..., int]:
    """Add the options of these classes to a command, which receives an instance of each by name."""
    options = inspect.signature(command, eval_str=True).parameters
    grouped = {
        name: inspect.signature(group, eval_str=True).parameters for name, group in groups.items()
    }

    @wraps(command)
    def run(**values: Any) -> int:
        instances = {n: groups[n](**{o: values.pop(o) for o in grouped[n]}) for n in groups}
        return command(**values, **instances)

    others = [option for name, option in options.items() if name not in groups]
    more = [option for group in grouped.values() for option in group.values()]
    vars(run)["__signature__"] = inspect.Signature([*others, *more])
    return run


def require_writable(option: str, path: Path | None) -> None:
    """Refuse a path that cannot be written before anything is computed."""
    if path is not None and (path.is_dir() or not path.parent.is_dir()):
        raise UnwritableFile(
            f"{option} {path} cannot be written.", "a file in a folder that exists."
        )


def profiles_of(named: Sequence[str] | None) -> list[str] | None:
    """Return the profiles that an option names, separated by spaces or commas."""
    if named is None:
        return None
    return [name for word in named for name in word.split(",") if name]


@dataclass(frozen=True, slots=True)
class CommandInputs:
    """The input files given on the command line."""

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


def open_inputs(inputs: CommandInputs) -> tuple[dict[str, Any], Any]:
    """Return predictions by label, and the truth to evaluate them against."""
    kinds = {
        "ranked lists": inputs.predictions, "--scores": inputs.scores, "--logits": inputs.logits,
    }  # fmt: skip
    used = [name for name, files in kinds.items() if files]
    if len(used) != 1:
        raise BadArgument(
            f"{' and '.join(used)} were given together." if used else "no predictions were given.",
            "one kind of predictions: files with ranked lists, --scores, or --logits.",
            "" if used else "for example: recs.csv --truth test.csv",
        )
    if used == ["--logits"]:
        return _open_logits(inputs)
    _require("--truth", inputs.truth, used[0], "name the ground truth: --truth test.csv")
    refuse({"--targets": inputs.targets, "--train-targets": inputs.train_targets}, used[0])
    if inputs.baselines:
        raise BadArgument("--baselines was given without --logits.", "--logits and --targets.")
    truth = source(inputs.truth)
    if used == ["ranked lists"]:
        refuse(_score_options(inputs), used[0])
        return {
            label: open_lists(file) for label, file in label_paths(inputs.predictions).items()
        }, truth
    return _open_scores(inputs), truth


def _open_scores(inputs: CommandInputs) -> dict[str, Any]:
    from rectitude.predictions.scores import Scores

    users = _read_ids(inputs.score_users, "users", "list")
    items = _read_ids(inputs.score_items, "items", "item")
    return {
        label: Scores(file, users=users, items=items, padding=_parse_padding(inputs, file, items))
        for label, file in label_paths(inputs.scores).items()
    }


def _parse_padding(inputs: CommandInputs, file: str, items: Any) -> Any:
    """Return the padding item in the type of the items: a number if they are numbers."""
    if inputs.padding is None or not inputs.padding.isdecimal():
        return inputs.padding
    if items is None and Path(file).suffix == ".npz":
        from rectitude.data.matrices import load

        items = load(file).get("items")
    text = items is not None and str(items.dtype).startswith(("String", "<U", "object"))
    return inputs.padding if text else int(inputs.padding)


def _read_ids(path: str | None, what: What, role: str) -> Any:
    """Return the ids in a file, in order; as numbers if untyped text contains nothing else."""
    from rectitude.data.ids import whole_numbers
    from rectitude.data.read import read

    if path is None:
        return None
    table = read(source(path), what)
    ids = table.frame[role]
    numbers = whole_numbers(ids) if table.text else None
    return ids if numbers is None else numbers


def _open_logits(inputs: CommandInputs) -> tuple[dict[str, Any], Any]:
    from rectitude.predictions.logits import Logits

    _require("--targets", inputs.targets, "--logits", "name the targets: --targets targets.npy")
    refuse({"--truth": inputs.truth, **_score_options(inputs)}, "--logits")
    targets = array(str(inputs.targets))
    runs: dict[str, Any] = {
        label: Logits(file) for label, file in label_paths(inputs.logits).items()
    }
    if inputs.baselines:
        first = next(iter(runs.values())).open()
        train_file = inputs.train_targets
        train_targets = targets if train_file is None else array(train_file)
        name = "majority" if train_file is not None else "majority of these targets"
        runs[name] = Logits.majority(train_targets, first.columns, first.rows)
        runs["random"] = Logits.random(first.rows, first.columns)
    elif inputs.train_targets is not None:
        raise BadArgument(
            "--train-targets was given without --baselines and without --slices.",
            "one of them: training targets are for the majority baseline, and for slices by "
            "popularity.",
        )
    return runs, targets


def refuse_dense_options(files: Files) -> None:
    """Raise an error for options of dense scores and logits where there are none."""
    refuse({**_score_options(files), "--targets": files.targets}, "ranked lists")


def _score_options(inputs: CommandInputs | Files) -> dict[str, object]:
    """Return the options that apply only to dense scores."""
    return {
        "--score-users": inputs.score_users,
        "--score-items": inputs.score_items,
        "--padding": inputs.padding,
    }


def _require(option: str, value: str | None, kind: str, advice: str) -> None:
    if value is None:
        were = "were" if kind == "ranked lists" else "was"
        found, expected = f"{kind} {were} given without {option}.", f"both {kind} and {option}."
        raise BadArgument(found, expected, advice)


def refuse(options: Mapping[str, object], kind: str) -> None:
    """Raise an error for the first option that was given, as it would have no effect."""
    for option, value in options.items():
        if value not in (None, False, []):
            raise BadArgument(
                f"{option} was given, but it does not apply to {kind}.", "", f"leave out {option}."
            )


def open_lists(word: str) -> Any:
    """Return ranked lists by path, with their format if the word names one."""
    from rectitude.predictions.lists import Lists

    form, file = split_format(word)
    return Lists(file, format=form) if form else file


def source(path: str | None) -> Any:
    """Return a table by path, with its format if the word names one; load arrays (.npy) and sparse
    matrices (.npz)."""
    if path is None:
        return None
    form, file = split_format(path)
    if form:
        from rectitude.data.table import Interactions

        return Interactions(file, format=form)
    suffix = Path(path).suffix
    if suffix in (".npy", ".npz"):
        form = "an array" if suffix == ".npy" else "csr"
        log_reading(f"read {Path(path).name} as {form} (its name ends in {suffix})")
    if suffix == ".npy":
        return array(path)
    if suffix != ".npz":
        return path
    from rectitude.data.matrices import load_sparse

    return load_sparse(path)


def array(path: str) -> Any:
    """Return the only array in a NumPy file."""
    from rectitude.data.matrices import load

    arrays = load(path)
    if len(arrays) != 1:
        raise UnreadableFile(
            f"{path} contains {len(arrays)} arrays: {', '.join(sorted(arrays))}.",
            "a file with one array.",
        )
    return next(iter(arrays.values()))
