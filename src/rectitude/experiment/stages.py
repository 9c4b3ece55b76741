"""The stages: what each depends on, and what it makes of it.

A stage reads what those before it wrote, and nothing that is only in memory, so that a run that is
continued gives the same bits as one that was never interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl

from rectitude.aggregate.definition import fingerprint
from rectitude.aggregate.evaluation import Evaluation
from rectitude.auditing import audit
from rectitude.candidates.protocols import candidates_of
from rectitude.candidates.value import Candidates
from rectitude.data.log import open_log
from rectitude.data.synthetic import purchases
from rectitude.data.table import Interactions
from rectitude.errors import RectitudeError
from rectitude.evaluation.evaluate import evaluate
from rectitude.experiment.config import STREAM
from rectitude.experiment.events import Report
from rectitude.experiment.fingerprints import file_digest, input_digest, key_of
from rectitude.experiment.reading import Loaded
from rectitude.experiment.store import (
    Output,
    json_file,
    known_of,
    log_files,
    parquet_file,
    read_log,
    read_split,
    split_files,
)
from rectitude.experiment.windows import prequential
from rectitude.metrics.names import parse_all
from rectitude.models import Predicted
from rectitude.options import At
from rectitude.prepare import prepare, read_recipe
from rectitude.profiles import is_file, profile_of
from rectitude.splits.files import open_parts
from rectitude.splits.protocols import resolve
from rectitude.splits.run import split
from rectitude.splits.split import Split, digest, parameters

By = str | Sequence[str]
Kind = Literal[
    "data", "prepare", "split", "audit", "candidates", "tune", "models", "evaluate", "compare",
    "explain", "report", "mlflow",
]  # fmt: skip
KINDS: tuple[Kind, ...] = get_args(Kind)
NOT_DRAWN = ("full", "train_items", "given")
"""kinds of candidates that have no seed"""


@dataclass(frozen=True)
class Stage:
    """One piece of work whose output is kept."""

    kind: Kind
    facts: Mapping[str, Any]
    """all that its output depends on: fingerprints of inputs, parameters"""
    make: Callable[[Report], Output]
    model: str = ""
    split: str = ""

    @property
    def name(self) -> str:
        """What it is called: models/knn, models/knn/fold-1."""
        return "/".join(word for word in (self.kind, self.model, self.split) if word)

    @property
    def key(self) -> str:
        """Its fingerprint."""
        return key_of(self.kind, self.facts)


def bare(name: str) -> Stage:
    """A stage that is known by its name alone: nothing is kept of it."""
    kind, _, rest = name.partition("/")
    known: Any = kind
    model = rest.partition("/")[0] if kind in ("tune", "models", "evaluate") else ""
    return Stage(known, {}, lambda _: {}, model)


@dataclass(frozen=True)
class StagePart:
    """One split of the series, where it is kept, and what it depends on."""

    folder: Path
    number: int
    name: str
    """of the split and, if there are several, of the seed; empty if there is one alone"""
    seed: int
    key: str

    def read(self) -> Split:
        """The split itself."""
        return read_split(self.folder, self.number)

    @property
    def mark(self) -> list[Any]:
        """What depends on this split depends on this."""
        return [self.key, self.number]


def data_stage(loaded: Loaded, given: object = None) -> Stage:
    """Interactions as a log."""
    data = loaded.config.data
    if given is not None:
        log = open_log(given)
        facts = {"content": digest(log.frame).hex()}
        return Stage("data", facts, lambda _: log_files(log))
    if data.shop is not None:
        shop = data.shop.model_dump()
        return Stage("data", {"shop": shop}, lambda _: log_files(_shop(**shop)))
    path = loaded.path(data.path, ("data", "path"))
    named: dict[str, Any] = {str(role): name for role, name in data.columns.items()}
    facts = {"bytes": file_digest(path), "format": data.format, **named}
    source = Interactions(path, **named, format=data.format or None)
    return Stage("data", facts, lambda _: log_files(open_log(source)))


def _shop(rows: int, seed: int) -> Any:
    return replace(open_log(purchases(rows, seed)), source="made-up shop")


def prepare_stage(loaded: Loaded, log: Stage, folder: Path | None) -> Stage:
    """The log after the steps of a recipe."""
    steps = steps_of(loaded)
    facts = {"log": log.key, "steps": steps}
    return Stage("prepare", facts, lambda _: log_files(prepare(read_log(_at(folder)), steps)))


def steps_of(loaded: Loaded) -> list[dict[str, Any]]:
    """The steps that prepare the log, as dicts."""
    given = loaded.config.prepare
    if isinstance(given, list):
        return given
    planned = read_recipe(loaded.path(given, ("prepare",)))
    return [{"step": one.name, **one.parameters} for one in planned]


def split_stage(loaded: Loaded, log: Stage | None, folder: Path | None, seed: int) -> Stage:
    """The log in parts; or parts that are there already."""
    chosen, name = loaded.config.split, ""
    if chosen.parts:
        where = loaded.path(chosen.parts, ("split", "parts"))
        facts: dict[str, Any] = {"parts": file_digest(where)}
        return Stage("split", facts, lambda _: _split_files(open_parts(where)))
    options = {**chosen.parameters, "validation": chosen.validation, "unknown": chosen.unknown}
    how: dict[str, Any] = {"how": chosen.how or None, "protocol": chosen.protocol or None}
    facts = {"log": log.key if log else "", **how, **options}
    if is_drawn(loaded):
        facts["seed"] = seed
        options["seed"] = seed
        name = f"seed-{seed}" if len(loaded.config.seeds) > 1 else ""

    def make(report: Report) -> Output:
        log = read_log(_at(folder))
        if chosen.how == STREAM:
            return split_files(list(prequential(log, **chosen.parameters)))
        return _split_files(split(log, **how, **options))

    return Stage("split", facts, make, "", name)


def _split_files(found: Split | list[Split]) -> Output:
    return split_files(found if isinstance(found, list) else [found])


def is_drawn(loaded: Loaded) -> bool:
    """Whether a split depends on the seed: its way of splitting, or that of its validation."""
    chosen = loaded.config.split
    if chosen.parts or chosen.how == STREAM:
        return False
    inner = chosen.validation if isinstance(chosen.validation, dict) else {}
    ways = [chosen.how or "leave_last", inner.get("how")]
    if chosen.protocol:
        plan = resolve(chosen.protocol, chosen.parameters)
        ways[0] = None if plan.seed is not None else plan.how
        ways.append(plan.validation.get("how"))
    given = {**chosen.parameters, **inner}
    return "seed" not in given and any("seed" in parameters(how) for how in ways if how)


def audit_stage(loaded: Loaded, part: StagePart) -> Stage:
    """What is wrong with a split."""
    asked = asked_of(loaded)

    def make(report: Report) -> Output:
        found = audit(
            part.read(), metrics=asked["metrics"], convention=convention_of(loaded),
            **tables_of(loaded),
        )  # fmt: skip
        return {"audit.json": json_file(found.as_dict())}

    return Stage("audit", {"split": part.mark, **asked, **table_facts(loaded)}, make, "", part.name)


def candidates_stage(loaded: Loaded, part: StagePart) -> Stage:
    """Which items compete for each user."""
    settings = _settings(loaded, part)
    facts = {
        name: input_digest(value) if isinstance(value, Path) else value
        for name, value in settings.items()
    }
    facts |= {"split": part.mark, "kind": loaded.config.candidates.kind}

    def make(report: Report) -> Output:
        return {"candidates.parquet": drawn(loaded, part, part.read()).save}

    return Stage("candidates", facts, make, "", part.name)


def drawn(loaded: Loaded, part: StagePart, split: Split) -> Candidates:
    """The candidates of a split."""
    return candidates_of(split, loaded.config.candidates.kind, **_settings(loaded, part))


def _settings(loaded: Loaded, part: StagePart) -> dict[str, Any]:
    """The settings of candidates, with files as paths, and the seed where something is drawn."""
    chosen = loaded.config.candidates
    settings = dict(chosen.parameters)
    if chosen.kind == "given":
        settings["source"] = loaded.path(settings["source"], ("candidates", "source"))
    elif chosen.kind not in NOT_DRAWN:
        settings.setdefault("seed", part.seed)
    if loaded.config.data.items and chosen.kind not in ("given", "train_items"):
        settings["items"] = tables_of(loaded)["items"]
    return settings


def evaluate_stage(
    loaded: Loaded, part: StagePart, lists: Stage, folder: Path | None, offered: Path | None
) -> Stage:
    """The numbers of one model, and the values behind them."""
    asked, slices = asked_of(loaded), loaded.config.evaluate.slices

    def make(report: Report) -> Output:
        split = part.read()
        found = measured(
            pl.read_parquet(_at(folder) / "predictions.parquet"), split.truth, slices,
            metrics=asked["metrics"], convention=convention_of(loaded), train=known_of(split),
            candidates=None if offered is None else Candidates.load(offered), intervals=True,
            progress=report, **tables_of(loaded),
        )  # fmt: skip
        values = parquet_file(found.per_list())
        return {"evaluation.json": json_file(found.as_dict()), "values.parquet": values}

    facts = {"lists": lists.key, "split": part.mark, **asked, **table_facts(loaded)}
    facts["slices"] = slices
    return Stage("evaluate", facts, make, lists.model, part.name)


def measured(lists: object, truth: object, slices: Sequence[By], **given: Any) -> Evaluation:
    """An evaluation with its slices. Those that there cannot be, such as three groups of users who
    are all alike, are left out, and the ledger says why."""
    try:
        return evaluate(lists, truth, slices=slices or None, **given)
    except RectitudeError:
        if not slices:
            raise
    evaluate(lists, truth, **given)  # what is no matter of slices is told as it is
    why = {str(one): _obstacle(lists, truth, one, given) for one in slices}
    kept = [one for one in slices if not why[str(one)]]
    found = evaluate(lists, truth, slices=kept or None, **given)
    reasons = "; ".join(f"{one}: {reason}" for one, reason in why.items() if reason)
    found.ledger.count(
        "slices_left_out", len(slices) - len(kept), "slicings could not be made: left out",
        len(slices), reasons, "warning",
    )  # fmt: skip
    return found


def _obstacle(lists: object, truth: object, by: By, given: dict[str, Any]) -> str:
    """Why one slicing cannot be made; nothing if it can."""
    try:
        evaluate(lists, truth, slices=[by], **given)
    except RectitudeError as error:
        return error.found
    return ""


def lists_stage(
    facts: Mapping[str, Any], answer: Callable[[Report], Predicted], model: str, part: StagePart
) -> Stage:
    """The lists of one model."""

    def make(report: Report) -> Output:
        found = answer(report)
        told = {"ledger": found.ledger.as_dict()}
        return {"predictions.parquet": parquet_file(found.table), "model.json": json_file(told)}

    return Stage("models", facts, make, model, part.name)


def _at(folder: Path | None) -> Path:
    """The folder of a stage that must be there by now."""
    if folder is None:
        raise RuntimeError("a stage was made before the one that it needs")
    return folder


def asked_of(loaded: Loaded) -> dict[str, Any]:
    """Metrics, what they mean and the convention, as they enter fingerprints."""
    chosen = loaded.config.evaluate.metrics
    metrics = [chosen] if isinstance(chosen, str) else list(chosen)
    return {"metrics": metrics, **convention_facts(loaded, metrics)}


def convention_facts(loaded: Loaded, metrics: list[str]) -> dict[str, Any]:
    """What these metrics mean here: a metric of one's own may mean something else tomorrow."""
    told = convention_of(loaded)
    profile = profile_of(told)
    meant = [fingerprint(profile.resolve(name)) for name in parse_all(metrics)]
    if isinstance(told, Mapping):
        told = {name: _content(value) for name, value in told.items()}
    return {"convention": _content(told), "definitions": meant}


def _content(told: Any) -> Any:
    """The hash of a profile that is a file of one's own; anything else as it is."""
    return input_digest(Path(told)) if isinstance(told, str) and is_file(told) else told


def convention_of(loaded: Loaded) -> Any:
    """The convention as `evaluate` takes it."""
    chosen, at = loaded.config.evaluate.convention, ("evaluate", "convention")
    if isinstance(chosen, str):
        return _profile(loaded, chosen, at)
    start = chosen.get("profile")
    if not isinstance(start, str):
        return chosen
    return {**chosen, "profile": _profile(loaded, start, (*at, "profile"))}


def against_of(loaded: Loaded) -> str:
    """The profile that the convention is explained against; empty if none is named."""
    return _profile(loaded, loaded.config.explain.against, ("explain", "against"))


def against_facts(loaded: Loaded) -> Any:
    """The same as it enters fingerprints."""
    return _content(against_of(loaded))


def _profile(loaded: Loaded, name: str, at: At) -> str:
    """The name of a profile; of one that is a file, its path from where the experiment lies."""
    return str(loaded.path(name, at)) if is_file(name) else name


def tables_of(loaded: Loaded) -> dict[str, Any]:
    """The tables about items and users, as `evaluate` takes them."""
    data = loaded.config.data
    named = {"items": data.items, "users": data.users}
    return {name: loaded.path(path, ("data", name)) for name, path in named.items() if path}


def table_facts(loaded: Loaded) -> dict[str, str]:
    """The hashes of these tables."""
    return {name: input_digest(path) for name, path in tables_of(loaded).items()}
