"""Opening the inputs of an evaluation: tables are read, and dense scores get their masks.

How a convention treats seen items, and users and items without scores or training data, is decided
here for all metrics at once, because it changes the columns that are ranked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, NamedTuple, ParamSpec, TypedDict, TypeVar, get_args

import numpy as np
import polars as pl

from rectitude.arrays import Floats, Integers, Ragged
from rectitude.candidate_sets.value import Candidates, load_stored
from rectitude.convention import Convention
from rectitude.data.columns import find_unused, has_names_of_other_side
from rectitude.data.dense import COPIED_BYTES, Block, Dense
from rectitude.data.formats.several import match_files
from rectitude.data.ids import Column, codes_of, whole_numbers
from rectitude.data.ledger import Ledger
from rectitude.data.matrices import load, matrix
from rectitude.data.read import collect_rows, read, reads_alone
from rectitude.data.table import Inputs, Interactions, Source, Table, What, is_wrapped
from rectitude.errors import BadArgument, BadTable, unknown_name
from rectitude.evaluation.restrict import (
    Offered,
    make_table,
    name_cells,
    offer_candidates,
    outside,
    restrict_lists,
    restrict_scores,
    scores_of_rows,
)
from rectitude.evaluation.swapped import look_for_swap, refuse_side, refuse_swapped
from rectitude.judge.judged import is_relevant
from rectitude.memory import in_units, parse_size, working_memory
from rectitude.parallel import run_tasks
from rectitude.predictions.lists import Lists
from rectitude.predictions.logits import Logits, whole_targets
from rectitude.predictions.masks import (
    Cells,
    are_cells,
    by_position,
    cells,
    from_table,
    has_column,
    has_row,
)
from rectitude.predictions.scores import Embeddings, Scores, are_numbers, column_of
from rectitude.predictions.unlabelled import recognise, require_positions
from rectitude.profiles import Asked

_DENSE = (Scores, Logits, Embeddings)
LEAST_MEMORY = 10**6
"""the lowest limit for an evaluation part by part, in bytes"""
_MOST_EXPANSION = 32
"""how many times larger than its file a table can be in memory"""
_HARMLESS = 64 * 10**6
"""bytes that every machine has"""
SPARSE = "sparse matrix"
"""the source name of a truth that was given as a sparse matrix"""


Progress = bool | Callable[[int, int], None]
"""True for a progress bar, or a function that is called with the rows done and the total."""
Accepted = ParamSpec("Accepted")
Returned = TypeVar("Returned")


class Arguments(TypedDict, total=False):
    """Optional inputs besides predictions and truth, with the names that `evaluate` uses."""

    train: object
    seen: object
    items: object
    users: object
    candidates: object
    ranking: object
    weights: object
    list_key: str
    columns: Mapping[str, str] | None


class LeftOut(NamedTuple):
    """The files of a table that cannot be read and were left out."""

    side: str
    names: tuple[str, ...]
    files: int
    """how many files there are in all"""


@dataclass(frozen=True, slots=True, eq=False)
class RawInputs:
    """The inputs by name, as they were passed."""

    inputs: Mapping[str, object]
    ranking: object = None
    list_key: str = "user"
    columns: Mapping[str, str] | None = None
    progress: Progress | None = None
    padding: object = None
    """the padding item of the profile"""
    keep: tuple[str, ...] = ()
    """further columns of predictions and truth to keep"""
    read_as: str = ""
    """how predictions without ids were read, in words"""
    ready: Mapping[str, Table] = field(default_factory=dict)
    """tables that were read before"""
    samples: Mapping[str, Table] = field(default_factory=dict)
    """rows that say of what kind the ids of a table are, if only a part of it was read"""
    left_out: tuple[LeftOut, ...] = ()
    """files that cannot be read"""

    def account(self, ledger: Ledger) -> None:
        """Count the files that were left out, with their names."""
        for side, names, files in self.left_out:
            about = f"files of {side} cannot be read: left out"
            ledger.count(f"{side}_files_left_out", len(names), about, files, names[0], "warning")
            ledger.note(f"{side} without", ", ".join(names))


def with_progress(function: Callable[Accepted, Returned]) -> Callable[Accepted, Returned]:
    """Let an evaluation show a bar for `progress=True`, and report lists, which are judged in one
    go, at the end."""

    @wraps(function)
    def evaluate(*given: Accepted.args, **options: Accepted.kwargs) -> Returned:
        progress = options.pop("progress", None)
        if progress is None or progress is False:
            return function(*given, **options)
        from rectitude.progress import report_to  # noqa: PLC0415  (for progress only)

        totals: list[int] = []
        with report_to(progress) as show:

            def report(done: int, of: int) -> None:
                totals.append(of)
                show(done, of)

            options["progress"] = report
            result = function(*given, **options)
            if not totals:
                lists = getattr(result, "lists", None)
                total = 1 if lists is None else len(lists.keys)
                report(total, total)
        return result

    return evaluate


def gather_arguments(
    predictions: object, truth: object, inputs: Arguments, padding: object = None
) -> RawInputs:
    """Collect the inputs from the keyword arguments of a function."""
    options: dict[str, Any] = {**inputs}
    for name in options.keys() - Arguments.__annotations__:
        raise unknown_name("argument", name, Arguments.__annotations__)
    ranking, columns = options.pop("ranking", None), options.pop("columns", None)
    list_key = options.pop("list_key", "user")
    tables = dict.fromkeys(("train", "seen", "items", "users", "weights", "candidates"))
    tables |= {name: collect_rows(given) for name, given in options.items()}
    given = RawInputs(tables, ranking, list_key, columns, padding=padding)
    return with_sides(given, predictions, truth)


def with_sides(given: RawInputs, predictions: object, truth: object) -> RawInputs:
    """Return the inputs with these predictions and this truth, in a form that says what they
    are."""
    predictions, truth = collect_rows(predictions), collect_rows(truth)
    if _may_be_by_row(predictions):
        from rectitude.predictions.rows import join_scores  # noqa: PLC0415  (for such rows only)

        predictions, truth = join_scores(predictions, truth)
    read_as, has_ids = "", isinstance(predictions, (str, PathLike, Mapping, Source))
    if not (has_ids and isinstance(truth, (str, PathLike, Mapping))):
        refuse_swapped(predictions, truth)
    if not isinstance(predictions, Logits) and not (has_ids and not isinstance(truth, list)):
        predictions, truth, read_as = recognise(predictions, truth)
    inputs = {"predictions": predictions, "truth": truth}
    return replace(given, inputs={**given.inputs, **inputs}, read_as=read_as)


def _may_be_by_row(predictions: object) -> bool:
    """Whether predictions are numbers without ids, perhaps one for each row of the truth."""
    if isinstance(predictions, (str, PathLike)):
        from rectitude.data.formats.recognise import holds_bare_numbers  # noqa: PLC0415  (files only)

        return holds_bare_numbers(Path(fspath(predictions)).expanduser())
    return isinstance(predictions, np.ndarray) and predictions.ndim == 1


def memory_for(memory: str | int | None) -> int:
    """Return how many bytes an evaluation may take."""
    if memory is None:
        return working_memory()
    size = parse_size(memory, "memory") if isinstance(memory, str) else memory
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < LEAST_MEMORY:
        raise BadArgument(
            f"memory is {memory!r}.", f"at least {in_units(LEAST_MEMORY)}, such as '8GB'."
        )
    return int(size)


def may_exceed(given: RawInputs, memory: str | int | None) -> bool:
    """Return whether the files of an evaluation could take more memory than the limit; whether they
    do is only known once they are opened."""
    sizes = {name: _size_on_disk(source) for name, source in given.inputs.items()}
    most = _MOST_EXPANSION * sum(sizes.values())
    if memory is None and most < _HARMLESS:
        return False
    return sizes["predictions"] > 0 and most > memory_for(memory)


def _size_on_disk(source: object) -> int:
    """Return the bytes of the files that a table is read from; 0 if it is in memory."""
    if is_wrapped(source):
        source = source.source
    if isinstance(source, (list, tuple)):
        return sum(_size_on_disk(path) for path in source)
    if not isinstance(source, (str, PathLike)):
        return 0
    path = Path(fspath(source)).expanduser()
    try:
        if path.is_dir():
            return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        matches = [path] if path.exists() else match_files(path)
        return sum(file.stat().st_size for file in matches if file.is_file())
    except OSError:  # such as a name that is too long, which reading it will name
        return 0


class Reach(NamedTuple):
    """How far metrics look into dense scores."""

    depth: int | None
    """the deepest rank; None for all ranks"""
    loss: Literal["loss", "ranks"]
    chances: Literal["chances", "none"]

    @staticmethod
    def of(asked: Collection[Asked]) -> Reach:
        """Return how far several metrics look, all together."""
        depths = [_deepest_rank(request) for request in asked]
        limits = [depth for depth in depths if depth is not None]
        loss, chances = (
            any(w in request.metric.requires for request in asked) for w in ("logits", "chances")
        )
        return Reach(
            max(limits) if len(limits) == len(depths) else None,
            "loss" if loss else "ranks",
            "chances" if chances else "none",
        )


def _deepest_rank(asked: Asked) -> int | None:
    """Return the deepest rank that a metric looks at; None for all ranks."""
    metric = asked.metric
    hits_anywhere = asked.convention.ideal == "listed" and "ideal" in metric.obeys
    all_ranks = "scores" in metric.requires or metric.reach == "list" or hits_anywhere
    all_ranks |= asked.convention.score_precision == "logistic"  # needs two readings of each pair
    return None if all_ranks else asked.cutoff


def open_inputs(given: RawInputs, reach: Reach, convention: Convention) -> Inputs:
    """Open all inputs, ready to be matched."""
    if _has_train_targets(given):
        others = replace(given, inputs={**given.inputs, "train": None})
        opened = open_inputs(others, reach, convention)
        return replace(opened, train_targets=_read_train_targets(given))
    opened = _open(given, reach, convention)
    if given.read_as:
        opened.ledger.note("read as", given.read_as)
    if not given.ready:  # parts have ready tables; what concerns all of them is counted at the end
        given.account(opened.ledger)
    return opened


def _open(given: RawInputs, reach: Reach, convention: Convention) -> Inputs:
    if given.inputs["candidates"] is not None:
        candidates = load_stored(given.inputs["candidates"])
        given = replace(given, inputs={**given.inputs, "candidates": candidates})
    predictions, truth = given.inputs["predictions"], given.inputs["truth"]
    if isinstance(predictions, Interactions) or isinstance(truth, (Lists, *_DENSE)):
        refuse_side(predictions, truth)
    if isinstance(predictions, _DENSE):
        return _open_dense(given, predictions, reach, convention)
    if given.ranking is not None:
        raise BadArgument(
            "ranking= is given, but the predictions are lists, which have an order already.",
            "ranking= only with rt.Scores, rt.Logits or rt.Embeddings.",
        )
    tables = _read_tables(given, given.ready)
    offered = _take_candidates(given, tables)
    left: Literal["part", "all"] = "part" if given.ready else "all"
    sources = Inputs(**tables, key=given.list_key, seen_in=_where_seen(given), left=left)
    if not given.ready and has_names_of_other_side(sources.predictions, sources.truth):
        found = look_for_swap(given.inputs, given.columns, sources.tables())
        sources = replace(sources, ledger=sources.ledger + found)
    return sources if offered is None else restrict_lists(sources, offered, convention)


def _take_candidates(given: RawInputs, tables: dict[str, Any]) -> Offered | None:
    """Return the candidates; a table of candidates is removed from `tables`."""
    candidates = given.inputs.get("candidates")
    if isinstance(candidates, Candidates):
        return offer_candidates(candidates)
    return Offered(tables.pop("candidates")) if "candidates" in tables else None


def _read_tables(given: RawInputs, ready: Mapping[str, Table]) -> dict[str, Any]:
    """Read every table, except those that are `ready`."""
    tables: dict[str, Table] = dict(ready)
    inputs, key = given.inputs, given.list_key

    def load_table(what: What) -> None:
        keep = given.keep if what in ("predictions", "truth") else ()
        tables[what] = read(inputs[what], what, hints=given.columns, list_key=key, keep=keep)

    needed = ("predictions", "truth")
    to_read = [w for w in get_args(What) if inputs.get(w) is not None or w in needed]
    to_read = [w for w in to_read if w not in ready and not isinstance(inputs[w], Candidates)]
    if not to_read:
        _refuse_columns(given)
        return tables
    alone = [what for what in to_read if reads_alone(inputs[what])]
    run_tasks([partial(load_table, what) for what in to_read if what not in alone])
    for what in alone:
        load_table(what)
    unused = find_unused(given.columns or {}, tables.values())
    for what in to_read if unused else ():
        read(inputs[what], what, columns=unused, list_key=key)  # raises an error with all names
    return tables


def _refuse_columns(given: RawInputs) -> None:
    """Raise an error if columns are named, but no input is a table."""
    if given.columns and not given.ready:
        names = ", ".join(f"{role}={name}" for role, name in given.columns.items())
        raise BadArgument(
            f"columns are named ({names}), but no input is a table.",
            "columns only for tables: arrays have none.",
            "leave out columns= (--columns).",
        )


def _open_dense(
    given: RawInputs,
    predictions: Scores | Logits | Embeddings,
    reach: Reach,
    convention: Convention,
) -> Inputs:
    dense = _open_rows(given, predictions, reach)
    _require_consistent(dense, given)
    inputs, where = dict(given.inputs), _where_seen(given)
    ready, cells_offered, seen = _open_positions(dense, inputs, where), None, None
    if are_cells(inputs.get(where)):
        seen = cells(dense, relevant_cells(inputs[where], convention), where)
        inputs[where] = None
    if are_cells(inputs["candidates"]):
        cells_offered = cells(dense, inputs.pop("candidates"), "candidates")
    given = replace(given, inputs=inputs)
    tables, ledger = _read_tables(given, ready), Ledger()
    if "truth" not in ready:
        ledger = require_positions(dense, tables["truth"], inputs)
        dense = _fit_names(dense, tables["truth"])
    offered = _take_candidates(given, tables) or cells_offered
    if where in tables and dense.kind == "scores":
        seen = from_table(dense, relevant_rows(tables[where], convention), where)
    seen = _filter_seen(dense, seen, tables["truth"], convention)
    if given.ranking is not None and dense.kind == "scores":
        tables["predictions"] = _lists_from_ranking(dense, given)
        masked = None if convention.seen == "kept" else seen
        add_scores = partial(scores_of_rows, dense, masked, tables["predictions"])
        return Inputs(**tables, key=given.list_key, seen_in=where, beside=add_scores, ledger=ledger)
    sources = Inputs(
        **tables, key=given.list_key, dense=dense, seen_cells=seen, seen_in=where, ledger=ledger
    )
    if offered is not None:
        return restrict_scores(sources, offered, convention)
    if dense.kind == "scores":
        dense = with_unknown(dense, tables["truth"], tables.get("train"), convention)
        sources = replace(sources, predictions=dense.table, seen_cells=_extend(seen, dense.rows))
    recorded = None if given.ranking is None else _read_ranking(dense, given.ranking)
    return replace(sources, dense=dense, recorded=recorded)


def _open_positions(dense: Dense, inputs: Mapping[str, Any], where: str) -> dict[str, Table]:
    """Return the tables that are not read: those of scores, of targets, and of sparse matrices."""
    ready = {"predictions": dense.table}
    if dense.kind == "logits":
        ready["truth"] = _read_targets(dense, inputs["truth"])
        _reject(inputs, ("train", "seen", "candidates"))
    elif are_cells(inputs["truth"]):
        ready["truth"] = _sparse_truth(dense, inputs["truth"])
    if where == "seen" and are_cells(inputs["train"]):
        ready["train"] = _sparse_train(dense, inputs["train"])
    return ready


def _where_seen(given: RawInputs) -> Literal["train", "seen"]:
    """Return the input that says which items users have seen."""
    return "train" if given.inputs.get("seen") is None else "seen"


def _sparse_train(dense: Dense, given: Any) -> Table:
    """Return training data that was given as a sparse matrix as a table, for all but masks."""
    cells = by_position(dense, given, "train")
    ids = name_cells(dense, *cells.columns.pairs())
    users = ids.get("user", ids["list"])
    columns = {"list": users, "item": ids["item"], "grade": cells.grades()}
    return make_table(columns, cells.source)


def _extend(seen: Ragged | None, rows: int) -> Ragged | None:
    """Return the seen items with an empty row for each row of scores that was added."""
    if seen is None or len(seen.offsets) == rows + 1:
        return seen
    added = np.full(rows + 1 - len(seen.offsets), seen.offsets[-1], seen.offsets.dtype)
    return Ragged(np.concatenate((seen.offsets, added)), seen.values)


def _open_rows(given: RawInputs, predictions: Scores | Logits | Embeddings, reach: Reach) -> Dense:
    """Return the rows of scores, with what metrics need of them."""
    return replace(
        _apply_padding(predictions.open(), given),
        depth=reach.depth,
        need_loss=reach.loss == "loss",
        need_probabilities=reach.chances == "chances",
        progress=given.progress if callable(given.progress) else None,
    )


def _fit_names(dense: Dense, truth: Table) -> Dense:
    """Return scores whose items are names of columns with integers instead, if the truth has
    integers and all names are integers."""
    if not dense.text or not truth.frame["item"].dtype.is_integer():
        return dense
    numbers = whole_numbers(dense.items)
    return dense if numbers is None else replace(dense, items=numbers, text=False)


def _filter_seen(
    dense: Dense, seen: Ragged | None, truth: Table, convention: Convention
) -> Ragged | None:
    """Return the seen items that count as seen, which may depend on the truth."""
    if seen is None or convention.seen_items == "all":
        return seen
    return outside(dense, seen, relevant_of(truth, convention))


def _apply_padding(dense: Dense, given: RawInputs) -> Dense:
    """Return the scores without the profile's padding item, unless another one was named."""
    if dense.padding is not None or given.padding is None or dense.kind == "logits":
        return dense
    return replace(dense, padding=column_of(dense.items, given.padding))


def _require_consistent(dense: Dense, given: RawInputs) -> None:
    """Raise an error for inputs that contradict each other or would be ignored."""
    if "user" in dense.table.frame.columns and given.list_key == "user":
        raise BadArgument(
            "the scores have users= and lists=, but list_key= is not given.",
            "list_key= with the column of the truth that contains the keys of lists.",
            "for example: list_key='session'.",
        )
    if dense.kind == "logits" and given.list_key != "user":
        raise BadArgument(
            f"list_key={given.list_key!r} is given, but the predictions are logits, whose rows are "
            "the lists.",
            "rt.Logits without list_key=.",
        )
    if given.inputs["candidates"] is None:
        return
    if given.ranking is not None:
        raise BadArgument(
            "candidates= and ranking= are both given.",
            "one of them: a recorded order cannot be restricted.",
        )


def _reject(inputs: Mapping[str, object], names: Sequence[str]) -> None:
    for name in names:
        if inputs.get(name) is not None:
            raise BadArgument(
                f"{name}= is given, but the predictions are logits, which rank every class.",
                f"rt.Logits without {name}= (train= is for slices by popularity only).",
                "use rt.Scores for items that can be masked.",
            )


def _read_targets(dense: Dense, targets: object) -> Table:
    if isinstance(targets, (str, PathLike)):
        targets = next(iter(load(targets).values()))
    target = whole_targets(targets, dense.rows)
    return make_table({"list": dense.table.frame["list"], "item": target}, "targets")


def _has_train_targets(given: RawInputs) -> bool:
    """Return whether train= is for slices of logits, which need to know how popular a target is."""
    is_logits = isinstance(given.inputs["predictions"], Logits)
    sliced = not {"popularity", "known", "activity"}.isdisjoint(given.keep)
    return is_logits and sliced and given.inputs["train"] is not None


def _read_train_targets(given: RawInputs) -> Table:
    """Return the classes that were targets in the training data of logits: an array, or a table of
    interactions whose items are class numbers."""
    train = given.inputs["train"]
    if isinstance(train, (str, PathLike)) and fspath(train).endswith((".npy", ".npz")):
        train = next(iter(load(train).values()))
    if not _is_column(train):
        train = read(train, "train", hints=given.columns, list_key=given.list_key).frame["item"]
    return make_table({"item": whole_targets(train, None, "training targets")}, "train")


def _is_column(source: object) -> bool:
    """Return whether a source is one column of values, and not a table."""
    if isinstance(source, (list, tuple)):
        return all(isinstance(value, int | np.integer) for value in source[:1])
    return len(getattr(source, "shape", ())) == 1


def _sparse_truth(dense: Dense, given: Any) -> Table:
    cells = by_position(dense, given, "truth")
    if dense.named or not are_numbers(dense.items):
        rows, items = cells.columns.pairs()
        return make_table({**name_cells(dense, rows, items), "grade": cells.grades()}, cells.source)
    return truth_by_number(cells.columns, cells.grades(), cells.source)


def truth_by_number(items: Ragged, grades: Floats, source: str = SPARSE) -> Table:
    """Return a truth whose ids are the numbers of rows and columns."""
    columns = {"list": items.rows(), "item": items.values.astype(np.int64), "grade": grades}
    return make_table(columns, source)


def _lists_from_ranking(dense: Dense, given: RawInputs) -> Table:
    """Return a recorded order of scores as lists; it is a table, or the columns of each row in
    order."""
    handed, ranking = dense.table.frame["list"], given.ranking
    if not isinstance(ranking, np.ndarray):
        key = given.list_key
        table = read(Lists(ranking), "predictions", hints=given.columns, list_key=key)
        if "user" in dense.table.frame.columns and "user" not in table.frame.columns:
            raise BadTable(
                "ranking= does not say which users its lists belong to, but the scores do.",
                f"a user column next to {key!r} in ranking=.",
            )
        keys = handed.cast(pl.String) if table.text and handed.dtype != pl.Object else handed
        return replace(table, handed=keys)
    order = _read_ranking(dense, ranking)
    rows, ranks = np.nonzero(order >= 0)
    columns = {**name_cells(dense, rows, order[rows, ranks]), "rank": ranks}
    return replace(make_table(columns, "recorded order", given=True), handed=handed)


def _read_ranking(dense: Dense, ranking: object) -> Integers:
    """Return the columns of each row in order, (rows, ranks). One column is the first rank."""
    order = matrix(ranking, "ranking", (1, 2))
    order = order[:, None] if order.ndim == 1 else order
    invalid = len(order) != dense.rows or order.dtype.kind not in "iu"
    if invalid or order.max() >= dense.columns or order.min() < -1:
        raise BadTable(
            f"ranking= has the shape {order.shape}, the type {order.dtype} and numbers from "
            f"{order.min()} to {order.max()}.",
            f"{dense.rows} rows of column numbers below {dense.columns}, -1 for an empty rank.",
        )
    return order.astype(np.int64)


def choices_at_opening(convention: Convention, offered: bool) -> dict[str, object]:
    """Return the choices that opening depends on. If they change, the inputs must be opened again.

    `offered` says whether candidates were given.
    """
    masks = convention.seen_items
    return {
        "candidates": convention.candidates if offered else None,
        "seen": convention.seen if offered else None,
        "seen_items": masks,
        "relevant_from": None if masks == "all" else convention.relevant_from,
        "unknown_items": convention.unknown_items == "lowest",
        "unknown_users": convention.unknown_users == "tied",
    }


def require_settled(asked: Asked, convention: Convention, offered: bool) -> None:
    """Raise an error if a metric sets its own value for a choice that is made once for all
    metrics."""
    metric_choices, shared_choices = (
        choices_at_opening(c, offered) for c in (asked.convention, convention)
    )
    if (metric_choices["seen"], shared_choices["seen"]) == ("removed", "last"):
        metric_choices["seen"] = "last"  # no candidate was seen, so there is nothing to remove
    for switch in [name for name in metric_choices if metric_choices[name] != shared_choices[name]]:
        value = getattr(asked.convention, switch)
        step = "candidates are applied" if offered else "scores are opened"
        raise BadArgument(
            f"{str(asked.name)!r} sets {switch}={value!r}, but {step} once for all metrics.",
            f"the same {switch} for all metrics.",
            f"evaluate it separately, with convention={{'{switch}': {value!r}}}.",
        )


def relevant_rows(train: Table, convention: Convention) -> Table:
    """Return the training data, without rows that are not relevant if only relevant rows mask their
    items."""
    return relevant_of(train, convention) if _masks_by_grade(convention) else train


def relevant_of(table: Table, convention: Convention) -> Table:
    """Return the relevant rows of a table; all rows if it has no grades."""
    if "grade" not in table.frame.columns:
        return table
    grades = table.frame["grade"].cast(float).to_numpy()
    return replace(table, frame=table.frame.filter(is_relevant(grades, convention.relevant_from)))


def _masks_by_grade(convention: Convention) -> bool:
    return convention.seen_items == "relevant_outside_truth"


def relevant_cells(train: Any, convention: Convention) -> Any:
    """Return the training cells like `relevant_rows`, from a sparse matrix whose values are
    grades."""
    if not _masks_by_grade(convention):
        return train
    cells = train if isinstance(train, Cells) else Cells.of(train)
    return replace(cells, values=is_relevant(cells.grades(), convention.relevant_from))


def with_unknown(dense: Dense, truth: Table, train: Table | None, convention: Convention) -> Dense:
    """Return the scores with a column for each item of the truth that has none, at the lowest score
    of the row, and with equal scores for users who are not in the training data, whether they have
    a row or not, if the convention says so."""
    missing, in_train = None, None
    if convention.unknown_items == "lowest":
        missing = _items_without_column(dense, truth)
    if convention.unknown_users == "tied" and train is not None:
        dense = _with_rows(dense, _users_without_row(dense, truth, train))
        in_train = has_row(dense, train)
    if missing is None and in_train is None:
        return dense
    extra = 0 if missing is None else len(missing)

    def blocks() -> Iterator[Block]:
        for first, last, block in dense.spans():
            scores = block if dense.padding is None else np.delete(block, dense.padding, axis=1)
            lowest = np.repeat(scores.min(axis=1, keepdims=True), extra, axis=1)
            extended = np.concatenate((block, lowest), axis=1)
            if in_train is not None:
                extended[~in_train[first:last]] = 0
            yield extended

    items = dense.items if missing is None else dense.items.clone().append(missing)
    return replace(dense, columns=dense.columns + extra, items=items, blocks=blocks)


def _users_without_row(dense: Dense, truth: Table, train: Table) -> pl.Series:
    """Return the unknown users of the truth without a row, each once, in the type of the rows."""
    users = truth.frame["list"]
    if not dense.named or "user" in dense.table.frame.columns:
        return users.clear()
    listed, in_rows = codes_of(Column(users, truth.source), dense.table, "list")
    others, in_train = codes_of(Column(users, truth.source), train, "list")
    missing = ~np.isin(listed, in_rows) & ~np.isin(others, in_train)
    rows = dense.table.frame["list"]
    return users.filter(missing).unique(maintain_order=True).cast(rows.dtype).alias("list")


def _with_rows(dense: Dense, users: pl.Series) -> Dense:
    """Return the scores with a row of zeros for each of some users."""
    if users.is_empty():
        return dense

    def blocks() -> Iterator[Block]:
        yield from dense.blocks()
        step = max(1, COPIED_BYTES // (8 * dense.columns))
        for first in range(0, len(users), step):
            yield np.zeros((min(step, len(users) - first), dense.columns))

    table = replace(dense.table, frame=pl.concat([dense.table.frame, users.to_frame()]))
    return replace(dense, rows=dense.rows + len(users), blocks=blocks, table=table)


def _items_without_column(dense: Dense, truth: Table) -> pl.Series:
    """Return the items of the truth without a column, each once, in the type of the columns."""
    items = truth.frame["item"].filter(~has_column(dense, truth)).unique(maintain_order=True)
    return items.cast(dense.items.dtype)
