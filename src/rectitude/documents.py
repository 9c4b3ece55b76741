"""What every stored file contains: the keys and types of runs, evaluations, comparisons and so on.

A file is checked once, when it is opened. So a file that somebody changed by hand, or that a disk
damaged, is refused with the key that is wrong, and the code that reads it can trust it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from rectitude.errors import UnreadableFile
from rectitude.options import join_key

_DEEPEST = 50
"""How deep settings and parameters may be nested; what rectitude writes has a handful of levels."""
_LARGEST = 2**63
_FARTHEST = 1e300
"""A number beyond this is no measurement; in percent, it would be infinite."""


def _require_scalar(value: Any) -> Any:
    """Raise an error for anything but text, a number of usual size, true, false or null."""
    if value is not None and not isinstance(value, str | bool | int | float):
        raise ValueError("text, a number, true, false or null")
    if isinstance(value, int | float) and not -_LARGEST <= value <= _LARGEST:
        raise ValueError("a number from -2^63 to 2^63")
    return value


def _require_plain(value: Any) -> Any:
    """Raise an error for values that are nested too deeply, or that contain absurd numbers."""
    waiting = [(value, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > _DEEPEST:
            raise ValueError(f"at most {_DEEPEST} levels of nesting")
        if isinstance(node, Mapping):
            waiting += [(inner, depth + 1) for inner in node.values()]
        elif isinstance(node, list | tuple):
            waiting += [(inner, depth + 1) for inner in node]
        else:
            _require_scalar(node)
    return value


def _require_inside(path: str) -> str:
    """Raise an error for a path that leads out of the folder of the run."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\0" in path:
        raise ValueError("a path inside the folder of the run")
    return path


Whole = Annotated[int, Field(ge=0, lt=_LARGEST)]
Integer = Annotated[int, Field(ge=-_LARGEST, lt=_LARGEST)]
Finite = Annotated[float, Field(ge=-_FARTHEST, le=_FARTHEST)]
Missing = Finite | None
"""A number, or null if there is none: undefined or infinite."""
Ends = Annotated[list[Finite], Field(strict=False, min_length=2, max_length=2)]
Scalar = Annotated[Any, AfterValidator(_require_scalar)]
Plain = Annotated[Any, AfterValidator(_require_plain)]
Inside = Annotated[str, AfterValidator(_require_inside)]
Hexadecimal = Annotated[str, Field(pattern=r"^-?0x[0-9a-f]{1,4000}$")]
Best = dict[str, Literal["high", "low"]]
Texts = dict[str, str]


class _Document(BaseModel):
    """A JSON object with these keys; a newer version of rectitude may add others."""

    model_config = ConfigDict(strict=True, extra="allow")
    __pydantic_extra__: dict[str, Plain]


class _Exact(BaseModel):
    """A JSON object with these keys and no others."""

    model_config = ConfigDict(strict=True, extra="forbid")


class _Entry(_Exact):
    count: Whole
    of: Whole | None
    about: str
    example: str
    weight: Literal["fact", "notice", "warning"]


class StoredLedger(_Document):
    """What `Ledger.as_dict` writes."""

    counts: dict[str, _Entry]
    notes: Texts


class StoredLedgers(RootModel[dict[str, StoredLedger]]):
    """The file ledger.json of a run: the ledger of every stage."""

    model_config = ConfigDict(strict=True)


class _Sums(_Exact):
    above: Hexadecimal
    below: Hexadecimal
    above_squared: Hexadecimal
    below_squared: Hexadecimal
    product: Hexadecimal
    counted: Hexadecimal
    skipped: Hexadecimal
    nan: Hexadecimal


class _Result(_Document):
    value: Missing
    counted: Whole | None
    interval: Ends | None
    ties: Ends | None
    metric: str
    definition: str
    fingerprint: str
    numbers: dict[str, Scalar]
    convention: dict[str, Scalar]
    state: _Sums | None
    breakdown: dict[str, list[Scalar]] = {}


class _SlicedNumber(_Exact):
    by: str
    slice: str
    metric: str
    value: Missing
    low: Missing
    high: Missing
    counted: Whole | None
    of: str
    lists: Whole
    relevant: Whole
    share: Missing
    reason: str
    too_small: bool


class _Slices(_Document):
    numbers: list[_SlicedNumber]
    notes: list[str]
    least_lists: Whole
    least_relevant: Whole

    @model_validator(mode="after")
    def _require_all_metrics(self) -> _Slices:
        """Every slice has every metric once, so that they form a table."""
        metrics = {number.metric for number in self.numbers}
        found = Counter((number.by, number.slice, number.metric) for number in self.numbers)
        for by, name in dict.fromkeys((number.by, number.slice) for number in self.numbers):
            once = {metric: None for metric in metrics if found[by, name, metric] == 1}
            _require_known(f"slice {name!r} of {by!r}", metrics, once)
        return self


class _Manifest(_Document):
    profile: str = ""
    names: Texts = {}
    inputs: dict[str, dict[str, Plain]] = {}


class StoredEvaluation(_Document):
    """What `Evaluation.as_dict` writes."""

    results: dict[str, _Result]
    failures: Texts
    ledger: StoredLedger
    manifest: _Manifest
    slices: _Slices | None = None


class StoredEvaluations(_Document):
    """What `Evaluations.save` writes. Each evaluation is checked when it is read."""

    evaluations: dict[str, dict[str, Any]]


class _Components(_Exact):
    users: Finite
    runs: Finite
    rest: Finite
    error: Finite


class _Difference(_Exact):
    metric: str
    model: str
    baseline: str
    unit: str
    users: Whole
    difference: Missing
    low: Missing
    high: Missing
    relative: Missing
    statistic: Missing
    p: Missing
    corrected: Missing
    deviation: Missing
    effect: Missing
    rank_biserial: Missing
    superiority: Missing
    better: Whole
    worse: Whole
    detectable: Missing
    equivalence: Missing
    spread: _Components | None
    significant: bool


class StoredComparison(_Document):
    """What `Comparison.as_dict` writes."""

    slice: str
    values: dict[str, dict[str, Missing]]
    deviations: dict[str, dict[str, Missing]]
    intervals: dict[str, dict[str, Ends]]
    best: Best
    differences: list[_Difference]
    baseline: str | None
    test: str
    correction: str
    tests: Whole
    interval: str
    alpha: Finite
    resamples: Whole
    seed: Integer
    runs: Whole
    margin: Missing
    notes: list[str]
    slices: dict[str, StoredComparison]

    @model_validator(mode="after")
    def _require_metrics(self) -> StoredComparison:
        _require_known("best", self.values, self.best)
        _require_known("values", (row.metric for row in self.differences), self.values)
        for row in self.differences:
            _require_known(
                f"values.{row.metric}", (row.model, row.baseline), self.values[row.metric]
            )
        return self


class _Side(_Exact):
    label: str
    value: Finite


class _Change(_Exact):
    name: str
    first: Scalar
    second: Scalar
    about: str
    first_means: str
    second_means: str


class _Example(_Exact):
    list: Scalar
    user: Scalar
    before: Missing
    after: Missing
    of: str


class _Flip(_Exact):
    value: Finite
    effect: Finite
    lists: Whole | None
    users: Whole | None
    example: _Example | None


class _Part(_Exact):
    label: str
    changes: list[_Change]
    share: Finite
    from_first: _Flip
    from_second: _Flip
    error: Missing
    reason: str


class _Step(_Document):
    label: str
    start: Finite
    end: Finite


class StoredExplanation(_Document):
    """What `Explanation.as_dict` writes."""

    model: str = ""
    metric: str
    first: _Side
    second: _Side
    parts: list[_Part]
    without_effect: list[_Change]
    method: str
    tried: Whole
    drawn: Whole
    seed: Integer
    lists: Whole
    users: Whole
    notes: list[str]
    waterfall: Annotated[list[_Step], Field(min_length=2)]


class _Epoch(_Document):
    epoch: Integer
    losses: dict[str, Scalar]
    seconds: Ends | None
    evaluation: dict[str, Any]


class StoredHistory(_Document):
    """What `History.save` writes. Each evaluation is checked when it is read."""

    metric: str
    definitions: list[dict[str, Any]]
    epochs: list[_Epoch]


class _Size(_Document):
    rows: Whole
    users: Whole
    items: Whole
    file: str = ""


class StoredSplit(_Document):
    """The file split.json in the folder of a split."""

    name: str
    how: str
    source: str
    fingerprint: str
    parts: dict[str, _Size]
    ledger: StoredLedger


class StoredCandidates(_Document):
    """What `Candidates.save` writes into the metadata of its Parquet file."""

    settings: dict[str, Plain]
    seed: Integer | None
    hash: str
    columns: list[str]
    ledger: StoredLedger


class _AsIs(_Document):
    as_is: Missing
    without: Missing


class _Finding(_Document):
    name: str
    severity: Literal["fine", "notice", "serious"]
    count: Whole
    of: Whole
    about: str
    example: str
    effect: dict[str, _AsIs]
    too_few: str
    lists: Annotated[list[Whole], Field(min_length=2, max_length=2)] | None
    advice: str


class _Audit(_Document):
    findings: list[_Finding]
    measured_on: str


class _RunSplit(_Document):
    name: str
    seed: Integer
    how: str
    source: str
    fingerprint: str
    parts: dict[str, _Size]
    facts: dict[str, Plain]
    files: dict[str, Inside]
    audit: _Audit | None


class _ModelRun(_Document):
    split: str
    seed: Integer
    parameters: dict[str, Plain]
    tuning: Plain
    values: Inside
    predictions: Inside
    evaluation: StoredEvaluation
    ledger: StoredLedger


class _Model(_Document):
    trials: Whole
    runs: list[_ModelRun]


class _Summary(_Document):
    value: Missing
    deviation: Missing
    splits: Whole
    interval: Ends | None


class _Standing(_Document):
    label: str
    values: dict[str, Finite]
    changed: list[list[str]]


class _Robustness(_Document):
    metric: str
    base: _Standing
    standings: list[_Standing]
    failures: Texts


class _Failure(_Document):
    stage: str
    kind: str
    message: str
    at: str
    traceback: str


class _Title(_Document):
    title: str = ""


class _Config(_Document):
    report: _Title | None = None


class StoredRun(_Document):
    """The file results.json of a run."""

    rectitude: str
    name: str
    about: str
    summary: str
    config: _Config
    complete: bool
    left_out: list[str]
    stopped: str
    splits: list[_RunSplit]
    models: dict[str, _Model]
    headline: dict[str, dict[str, _Summary]]
    windows: dict[str, Plain]
    best: Best
    comparison: StoredComparison | None
    robustness: _Robustness | None
    explanation: StoredExplanation | None
    failures: list[_Failure]

    @model_validator(mode="after")
    def _require_headline(self) -> StoredRun:
        _require_known("models", self.headline, self.models)
        _require_known(
            "headline", (m for m, kept in self.models.items() if kept.runs), self.headline
        )
        for model, kept in self.models.items():
            for run in kept.runs:
                _require_known("best", run.evaluation.results, self.best)
                _require_known(f"headline.{model}", run.evaluation.results, self.headline[model])
        return self


def _require_known(where: str, names: Any, known: Mapping[str, Any]) -> None:
    """Raise an error if one part of a document names what another part does not have."""
    for name in names:
        if name not in known:
            words = "{where} has no {name}, which other parts of the file refer to"
            raise PydanticCustomError(_INCOMPLETE, words, {"where": where, "name": repr(name)})


class _StageRecord(_Document):
    stage: str
    key: Annotated[str, Field(pattern=r"^[0-9a-f]{1,64}$")]
    files: dict[Inside, str]


class StoredManifest(_Document):
    """The stages of a run, with the hashes of their files."""

    stages: list[_StageRecord]


class StoredEnvironment(BaseModel):
    """Versions and machine of a run; only what is used is checked."""

    file: str = ""


class _StageUsage(_Document):
    stage: str
    key: str
    seconds: Finite
    cpu_seconds: Finite
    peak_bytes: Whole | None
    energy_kwh: Missing


class StoredResources(_Document):
    """What the stages of a run took."""

    stages: list[_StageUsage]


_KINDS: Mapping[str, type[BaseModel]] = {
    "run": StoredRun,
    "resources": StoredResources,
    "manifest": StoredManifest,
    "environment": StoredEnvironment,
    "ledger": StoredLedgers,
    "evaluation": StoredEvaluation,
    "evaluations": StoredEvaluations,
    "comparison": StoredComparison,
    "explanation": StoredExplanation,
    "history": StoredHistory,
    "split": StoredSplit,
    "candidates": StoredCandidates,
}
_ADVICE = {
    "run": "run the experiment again; finished stages are reused.",
    "manifest": "run the experiment again; finished stages are reused.",
    "ledger": "run the experiment again; finished stages are reused.",
    "split": "split again.",
    "candidates": "make the candidates again.",
}
_AGAIN = "the file was changed or damaged; save the result again."
_INCOMPLETE = "incomplete"
_LONGEST = 80
_WORDS = {
    "int_type": "a whole number",
    "float_type": "a number",
    "too_short": "more entries",
    "too_long": "fewer entries",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "string_pattern_mismatch": "a whole number in hexadecimal, such as 0x1f",
}


def require_document(stored: object, where: str, kind: str) -> None:
    """Raise an error with the first key that is missing or wrong, if a stored object does not have
    the form of its kind. Kinds that are checked elsewhere pass."""
    if kind not in _KINDS:
        return
    try:
        _KINDS[kind].model_validate(stored)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False)[0]
    else:
        return
    found, expected = _explain(problem)
    raise UnreadableFile(f"{where}: {found}.", f"{expected}.", _ADVICE.get(kind, _AGAIN))


def _explain(problem: Mapping[str, Any]) -> tuple[str, str]:
    """Return what is wrong in a document, and what was expected."""
    key = join_key(tuple(problem["loc"])) or "the file"
    if problem["type"] == "missing":
        return f"{key} is missing", "a complete file"
    if problem["type"] == _INCOMPLETE:
        return problem["msg"], "a complete file"
    if problem["type"] == "extra_forbidden":
        return f"{key} is not known", "no such key"
    message = str(problem["msg"]).removeprefix("Value error, ").removeprefix("Input should be ")
    message = re.sub("^(?=greater|less)", "a number ", message)
    if len(message) > _LONGEST:  # it spells out 1e300
        message = "a number of usual size"
    return f"{key} is {_shorten(problem['input'])}", _WORDS.get(problem["type"], message)


def _shorten(value: object) -> str:
    if isinstance(value, Mapping):
        return f"an object with {len(value)} keys"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    text = "null" if value is None else repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
