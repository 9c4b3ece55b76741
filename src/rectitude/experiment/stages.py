"""The stages of a run: what each depends on, and what it produces.

A stage reads only files that earlier stages wrote, and nothing that exists only in memory. So a
resumed run gives exactly the same results as one that was never interrupted.
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
from rectitude.candidate_sets.protocols import SETS
from rectitude.candidate_sets.protocols import candidates as make_candidates
from rectitude.candidate_sets.value import Candidates
from rectitude.data.log import open_log
from rectitude.data.synthetic import purchases
from rectitude.data.table import Interactions
from rectitude.errors import RectitudeError
from rectitude.evaluation.evaluate import evaluate
from rectitude.evaluation.plan import resolve as resolve_metrics
from rectitude.experiment.config import STREAM
from rectitude.experiment.events import Report
from rectitude.experiment.fingerprints import file_digest, input_digest, key_of
from rectitude.experiment.reading import Loaded
from rectitude.experiment.sources import sources_of
from rectitude.experiment.store import (
    Output,
    json_file,
    log_files,
    parquet_file,
    read_log,
    read_split,
    rows_known,
    split_files,
)
from rectitude.experiment.windows import prequential
from rectitude.extensions import is_path
from rectitude.metrics.names import parse_all
from rectitude.models import Predicted
from rectitude.options import At
from rectitude.preparing import prepare, read_recipe
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


@dataclass(frozen=True)
class Stage:
    """One step of a run whose output is cached."""

    kind: Kind
    key_inputs: Mapping[str, Any]
    """what its key is computed from: everything that its output depends on, such as fingerprints of
    inputs, and parameters"""
    make: Callable[[Report], Output]
    model: str = ""
    split: str = ""

    @property
    def name(self) -> str:
        """The name of the stage: models/knn, models/knn/fold-1."""
        return "/".join(word for word in (self.kind, self.model, self.split) if word)

    @property
    def key(self) -> str:
        """The fingerprint of the stage."""
        return key_of(self.kind, self.key_inputs)


def bare(name: str) -> Stage:
    """Return a stage with only a name: it has no cached output."""
    kind, _, rest = name.partition("/")
    stage_kind: Any = kind
    model = rest.partition("/")[0] if kind in ("tune", "models", "evaluate") else ""
    return Stage(stage_kind, {}, lambda _: {}, model)


@dataclass(frozen=True)
class StagePart:
    """One split of a series, where it is stored, and what it depends on."""

    folder: Path
    number: int
    name: str
    """the name of the split, with the seed if there are several; empty if there is only one"""
    seed: int
    key: str

    def read(self) -> Split:
        """Read the split."""
        return read_split(self.folder, self.number)

    @property
    def fingerprint(self) -> list[Any]:
        """What identifies this split in the keys of later stages."""
        return [self.key, self.number]


def data_stage(loaded: Loaded, interactions: object = None) -> Stage:
    """Return the stage that reads interactions as a log."""
    data = loaded.config.data
    if interactions is not None:
        log = open_log(interactions)
        key_inputs = {"content": digest(log.frame).hex()}
        return Stage("data", key_inputs, lambda _: log_files(log))
    if data.shop is not None:
        shop = data.shop.model_dump()
        return Stage("data", {"shop": shop}, lambda _: log_files(_generate_shop(**shop)))
    path = loaded.path(data.path, ("data", "path"))
    columns: dict[str, Any] = {str(role): name for role, name in data.columns.items()}
    key_inputs = {"bytes": file_digest(path), "format": data.format, **columns}
    source = Interactions(path, **columns, format=data.format or None)
    return Stage("data", key_inputs, lambda _: log_files(open_log(source)))


def _generate_shop(rows: int, seed: int) -> Any:
    return replace(open_log(purchases(rows, seed)), source="synthetic shop")


def prepare_stage(loaded: Loaded, log: Stage, folder: Path | None) -> Stage:
    """Return the stage that prepares the log with the steps of a recipe."""
    steps = steps_of(loaded)
    key_inputs = {"log": log.key, "steps": steps}
    return Stage(
        "prepare",
        key_inputs,
        lambda _: log_files(prepare(read_log(_require_folder(folder)), steps)),
    )


def steps_of(loaded: Loaded) -> list[dict[str, Any]]:
    """Return the steps that prepare the log, as dicts."""
    steps = loaded.config.prepare
    if isinstance(steps, list):
        return steps
    recipe = read_recipe(loaded.path(steps, ("prepare",)))
    return [{"step": step.name, **step.parameters} for step in recipe]


def split_stage(loaded: Loaded, log: Stage | None, folder: Path | None, seed: int) -> Stage:
    """Return the stage that splits the log, or reads an existing split."""
    chosen, name = loaded.config.split, ""
    if chosen.parts:
        where = loaded.path(chosen.parts, ("split", "parts"))
        key_inputs: dict[str, Any] = {"parts": file_digest(where)}
        return Stage("split", key_inputs, lambda _: _split_files(open_parts(where)))
    options = {**chosen.parameters, "validation": chosen.validation, "unknown": chosen.unknown}
    how: dict[str, Any] = {"how": chosen.how or None, "protocol": chosen.protocol or None}
    key_inputs = {"log": log.key if log else "", **how, **options}
    if depends_on_seed(loaded):
        key_inputs["seed"] = seed
        options["seed"] = seed
        name = f"seed-{seed}" if len(loaded.config.seeds) > 1 else ""

    def make(report: Report) -> Output:
        log = read_log(_require_folder(folder))
        if chosen.how == STREAM:
            return split_files(list(prequential(log, **chosen.parameters)))
        return _split_files(split(log, **how, **options))

    return Stage("split", key_inputs, make, "", name)


def _split_files(splits: Split | list[Split]) -> Output:
    return split_files(splits if isinstance(splits, list) else [splits])


def depends_on_seed(loaded: Loaded) -> bool:
    """Return whether the split, or its validation split, depends on the seed."""
    chosen = loaded.config.split
    if chosen.parts or chosen.how == STREAM:
        return False
    inner = chosen.validation if isinstance(chosen.validation, dict) else {}
    methods = [chosen.how or "leave_last", inner.get("how")]
    if chosen.protocol:
        plan = resolve(chosen.protocol, chosen.parameters)
        methods[0] = None if plan.seed is not None else plan.how
        methods.append(plan.validation.get("how"))
    options = {**chosen.parameters, **inner}
    return "seed" not in options and any("seed" in parameters(how) for how in methods if how)


def audit_stage(loaded: Loaded, part: StagePart) -> Stage:
    """Return the stage that audits a split."""
    metrics = describe_metrics(loaded)

    def make(report: Report) -> Output:
        result = audit(
            part.read(), metrics=metrics["metrics"], convention=convention_of(loaded),
            **tables_of(loaded),
        )  # fmt: skip
        return {"audit.json": json_file(result.as_dict())}

    key_inputs = {"split": part.fingerprint, **metrics, **table_key_inputs(loaded)}
    return Stage("audit", key_inputs, make, "", part.name)


def candidates_stage(loaded: Loaded, part: StagePart) -> Stage:
    """Return the stage that draws the candidate items of each user."""
    settings = _candidate_settings(loaded, part)
    key_inputs = {
        name: input_digest(value) if isinstance(value, Path) else value
        for name, value in settings.items()
    }
    key_inputs |= {"split": part.fingerprint, "kind": loaded.config.candidates.kind}

    def make(report: Report) -> Output:
        return {"candidates.parquet": draw_candidates(loaded, part, part.read()).save}

    return Stage("candidates", key_inputs, make, "", part.name)


def draw_candidates(loaded: Loaded, part: StagePart, split: Split) -> Candidates:
    """Draw the candidates of a split."""
    return make_candidates(
        split, loaded.config.candidates.kind, **_candidate_settings(loaded, part)
    )


def _candidate_settings(loaded: Loaded, part: StagePart) -> dict[str, Any]:
    """Return the settings of candidates: with files as paths, and a seed if they are random."""
    chosen = loaded.config.candidates
    settings = dict(chosen.parameters)
    if chosen.kind == "given":
        settings["source"] = loaded.path(settings["source"], ("candidates", "source"))
    elif chosen.kind not in SETS:
        settings.setdefault("seed", part.seed)
    if loaded.config.data.items and chosen.kind not in ("given", "train_items"):
        settings["items"] = tables_of(loaded)["items"]
    return settings


def evaluate_stage(
    loaded: Loaded, part: StagePart, lists: Stage, folder: Path | None, candidates: Path | None
) -> Stage:
    """Return the stage that evaluates one model, with its values per list."""
    metrics, slices = describe_metrics(loaded), loaded.config.evaluate.slices

    def make(report: Report) -> Output:
        split = part.read()
        evaluation = measure_lists(
            pl.read_parquet(_require_folder(folder) / "predictions.parquet"), split.truth, slices,
            metrics=metrics["metrics"], convention=convention_of(loaded), train=rows_known(split),
            candidates=None if candidates is None else Candidates.load(candidates), intervals=True,
            progress=report, **tables_of(loaded),
        )  # fmt: skip
        values = parquet_file(evaluation.per_list())
        return {"evaluation.json": json_file(evaluation.as_dict()), "values.parquet": values}

    key_inputs = {"lists": lists.key, "split": part.fingerprint, **metrics}
    key_inputs |= {**table_key_inputs(loaded), "slices": slices}
    return Stage("evaluate", key_inputs, make, lists.model, part.name)


def measure_lists(
    lists: object, truth: object, slices: Sequence[By], **arguments: Any
) -> Evaluation:
    """Evaluate lists with slices. Slices that cannot be formed, such as three bins of a constant
    column, are left out, and the ledger says why."""
    evaluation: Evaluation
    try:
        evaluation = evaluate(lists, truth, slices=slices or None, **arguments)
    except RectitudeError:
        if not slices:
            raise
    else:
        return evaluation
    evaluate(lists, truth, **arguments)  # errors that are not about slices are raised here
    reasons = {str(by): _find_obstacle(lists, truth, by, arguments) for by in slices}
    kept = [by for by in slices if not reasons[str(by)]]
    evaluation = evaluate(lists, truth, slices=kept or None, **arguments)
    details = "; ".join(f"{by}: {reason}" for by, reason in reasons.items() if reason)
    evaluation.ledger.count(
        "slices_left_out", len(slices) - len(kept), "slices could not be formed and were left out",
        len(slices), details, "warning",
    )  # fmt: skip
    return evaluation


def _find_obstacle(lists: object, truth: object, by: By, arguments: dict[str, Any]) -> str:
    """Return why slices cannot be formed; empty if they can."""
    try:
        evaluate(lists, truth, slices=[by], **arguments)
    except RectitudeError as error:
        return error.found
    return ""


def lists_stage(
    key_inputs: Mapping[str, Any],
    predict: Callable[[Report], Predicted],
    model: str,
    part: StagePart,
) -> Stage:
    """Return the stage that makes the ranked lists of one model."""

    def make(report: Report) -> Output:
        predicted = predict(report)
        notes = {"ledger": predicted.ledger.as_dict()}
        lists = parquet_file(predicted.table)
        return {"predictions.parquet": lists, "model.json": json_file(notes)}

    return Stage("models", key_inputs, make, model, part.name)


def _require_folder(folder: Path | None) -> Path:
    """Return the folder of an earlier stage, which must exist by now."""
    if folder is None:
        raise RuntimeError("a stage runs before a stage that it needs")
    return folder


def describe_metrics(loaded: Loaded) -> dict[str, Any]:
    """Return the metrics, their definitions and the convention, for fingerprints."""
    metrics = metrics_of(loaded)
    return {"metrics": metrics, **convention_key_inputs(loaded, metrics)}


def metrics_of(loaded: Loaded) -> list[str]:
    """Return the metrics by name; those without a cutoff at each of `cutoffs`, if there are any."""
    chosen = loaded.config.evaluate
    if chosen.cutoffs is None and not isinstance(chosen.metrics, Mapping):
        return [chosen.metrics] if isinstance(chosen.metrics, str) else list(chosen.metrics)
    given = chosen.metrics if "metrics" in chosen.model_fields_set else None
    asked = resolve_metrics(given, profile_of(convention_of(loaded)), cutoffs=chosen.cutoffs)
    return [str(request.typed or request.name) for request in asked]


def convention_key_inputs(loaded: Loaded, metrics: list[str]) -> dict[str, Any]:
    """Return the definitions of metrics, for fingerprints: that of a custom metric may change."""
    convention = convention_of(loaded)
    profile = profile_of(convention)
    names = parse_all(metrics)
    definitions = [fingerprint(profile.resolve(name)) for name in names]
    sources = {name.base: sources_of(name.base) for name in names if is_path(name.base)}
    if isinstance(convention, Mapping):
        convention = {name: _hash_if_file(value) for name, value in convention.items()}
    key_inputs = {"convention": _hash_if_file(convention), "definitions": definitions}
    return {**key_inputs, "sources_of_metrics": sources} if sources else key_inputs


def _hash_if_file(value: Any) -> Any:
    """Return the hash of a profile that is a file; anything else unchanged."""
    return input_digest(Path(value)) if isinstance(value, str) and is_file(value) else value


def convention_of(loaded: Loaded) -> Any:
    """Return the convention in the form that `evaluate` accepts."""
    chosen, at = loaded.config.evaluate.convention, ("evaluate", "convention")
    if isinstance(chosen, str):
        return _resolve_profile(loaded, chosen, at)
    start = chosen.get("profile")
    if not isinstance(start, str):
        return chosen
    return {**chosen, "profile": _resolve_profile(loaded, start, (*at, "profile"))}


def against_of(loaded: Loaded) -> str:
    """Return the profile that the convention is compared with; empty if none is set."""
    return _resolve_profile(loaded, loaded.config.explain.against, ("explain", "against"))


def against_key_inputs(loaded: Loaded) -> Any:
    """Return that profile for fingerprints."""
    return _hash_if_file(against_of(loaded))


def _resolve_profile(loaded: Loaded, name: str, at: At) -> str:
    """Return the name of a profile; the path if it is a file, relative to the experiment."""
    return str(loaded.path(name, at)) if is_file(name) else name


def tables_of(loaded: Loaded) -> dict[str, Any]:
    """Return the tables of items and users in the form that `evaluate` accepts."""
    data = loaded.config.data
    paths = {"items": data.items, "users": data.users}
    return {name: loaded.path(path, ("data", name)) for name, path in paths.items() if path}


def table_key_inputs(loaded: Loaded) -> dict[str, str]:
    """Return the hashes of these tables."""
    return {name: input_digest(path) for name, path in tables_of(loaded).items()}
