"""What the command line hands to `evaluate`: ranked lists, dense scores or logits, by label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rectitude.cli.options import labelled, named_format
from rectitude.cli.reading import told
from rectitude.data.table import What
from rectitude.errors import BadName, UnreadableFile


@dataclass(frozen=True, slots=True)
class Inputs:
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


def opened(inputs: Inputs) -> tuple[dict[str, Any], Any]:
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


def _scores(inputs: Inputs) -> dict[str, Any]:
    from rectitude.predictions.dense import Scores

    users = _ids(inputs.score_users, "users", "list")
    items = _ids(inputs.score_items, "items", "item")
    return {
        label: Scores(file, users=users, items=items, padding=_padding(inputs, file, items))
        for label, file in labelled(inputs.scores).items()
    }


def _of_scores(inputs: Inputs) -> dict[str, object]:
    """The options that belong to dense scores."""
    return {
        "--score-users": inputs.score_users,
        "--score-items": inputs.score_items,
        "--padding": inputs.padding,
    }


def _padding(inputs: Inputs, file: str, items: Any) -> Any:
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


def _logits(inputs: Inputs) -> tuple[dict[str, Any], Any]:
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


def array(path: str) -> Any:
    """The one array in a NumPy file."""
    from rectitude.data.matrices import load

    arrays = load(path)
    if len(arrays) != 1:
        raise UnreadableFile(f"{path} holds {', '.join(sorted(arrays))}.", "one array.")
    return next(iter(arrays.values()))


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
        from rectitude.data.interactions import Interactions

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


def _require(option: str, value: str | None, kind: str) -> None:
    if value is None:
        raise BadName(f"{kind} was given without {option}.", f"both {kind} and {option}.")


def _refuse(options: Mapping[str, object], kind: str) -> None:
    for option, value in options.items():
        if value is not None:
            raise BadName(f"{option} was given, and it does not go with {kind}.")
