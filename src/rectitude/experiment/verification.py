"""`verify`: evaluate stored predictions again, and say whether everything still holds.

A run, as a folder or a zip of it, keeps its predictions, its truth and its settings. A stored
evaluation keeps only its values, so the files that it was made from are needed, too.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from zipfile import is_zipfile

import numpy as np
import polars as pl

from rectitude.aggregate.evaluation import Evaluation
from rectitude.aggregate.stored import holds_documents, read_values
from rectitude.archives import open_archive, unpack
from rectitude.candidate_sets.value import Candidates
from rectitude.comparison.opening import load_evaluations
from rectitude.data.log import Log
from rectitude.errors import NothingToEvaluate, UnreadableFile
from rectitude.evaluation.evaluate import evaluate
from rectitude.experiment.fingerprints import file_digest
from rectitude.experiment.reading import Loaded, load
from rectitude.experiment.results import Run, headline, restore_evaluation
from rectitude.experiment.stages import convention_of, measure_lists, metrics_of, tables_of
from rectitude.experiment.store import rows_known
from rectitude.extensions import Plugins, allow_plugins
from rectitude.profiles import PROFILES
from rectitude.render import Printable
from rectitude.splits.split import Split
from rectitude.storage import read_stored, require_format, require_keys
from rectitude.texts import require_regular

Aspect = Literal["file", "setting", "number", "value", "definition", "fingerprint", "ledger"]
WORDS: Mapping[Aspect, tuple[str, str]] = {
    "file": ("file", "files"),
    "setting": ("setting", "settings"),
    "number": ("number", "numbers"),
    "value": ("value per list", "values per list"),
    "definition": ("definition", "definitions"),
    "fingerprint": ("fingerprint", "fingerprints"),
    "ledger": ("ledger", "ledgers"),
}
"""What is verified, in words: one, and several."""
_EXPECTED = "the folder of a run, a zip of it, or a stored evaluation (JSON or zip)."
_RUN = "results.json"
_AGAIN = "zip the folder of the run again."
_OF_NUMBER = ("value", "counted", "interval", "ties", "state", "breakdown")
_OF_DEFINITION = ("definition", "fingerprint", "convention", "numbers", "metric")
_VERSIONS = ("rectitude", "python", "numpy", "polars")
_TABLES = ("train", "seen", "items", "users", "weights")


@dataclass(frozen=True, slots=True)
class Deviation:
    """Something that does not hold any more."""

    aspect: Aspect
    where: str
    """what changed: a file, or a model and its metric"""
    stored: str
    found: str


@dataclass(frozen=True, slots=True, repr=False)
class Verification(Printable):
    """Whether stored results still hold; printing it names everything that changed."""

    source: str
    counts: Mapping[Aspect, int]
    """how much was verified"""
    changes: tuple[Deviation, ...] = ()
    notes: tuple[str, ...] = ()
    """other versions, and what could not be verified"""

    @property
    def holds(self) -> bool:
        """Whether nothing changed."""
        return not self.changes

    def as_dict(self) -> dict[str, Any]:
        """Return the verification for JSON."""
        changes = [
            {"aspect": one.aspect, "where": one.where, "stored": one.stored, "found": one.found}
            for one in self.changes
        ]
        return {
            "format": "rectitude.verification", "version": 1, "source": self.source,
            "holds": self.holds, "counts": dict(self.counts), "changes": changes,
            "notes": list(self.notes),
        }  # fmt: skip

    def to_json(self) -> str:
        """Return the verification as JSON text."""
        return json.dumps(self.as_dict(), indent=1)

    def _shown(self) -> Iterator[str]:
        parts = [f"{n:,} {WORDS[aspect][n != 1]}" for aspect, n in self.counts.items() if n]
        state = "holds" if self.holds else f"{len(self.changes):,} changes"
        yield f"{self.source}: {state}"
        yield f"  verified: {', '.join(parts)}"
        for one in self.changes:
            yield f"! {WORDS[one.aspect][0]} {one.where}: stored {one.stored}, found {one.found}"
        yield from (f"- {note}" for note in self.notes)


@dataclass
class _Findings:
    """What has been verified so far."""

    counts: dict[Aspect, int] = field(default_factory=dict)
    changes: list[Deviation] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)

    def require(self, aspect: Aspect, where: str, stored: object, found: object) -> None:
        """Count something as verified; record it if it changed."""
        self.counts[aspect] = self.counts.get(aspect, 0) + 1
        if stored != found:
            self.changes.append(Deviation(aspect, where, _shorten(stored), _shorten(found)))

    def note(self, text: str) -> None:
        """Record a note, once."""
        self.notes[text] = None

    def result(self, source: str) -> Verification:
        """Return the verification."""
        order = {aspect: self.counts[aspect] for aspect in WORDS if aspect in self.counts}
        return Verification(source, order, tuple(self.changes), tuple(self.notes))


def _shorten(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    lines = text.splitlines() or [""]
    return lines[0] if len(lines) == 1 and len(lines[0]) <= 80 else f"{lines[0][:77]}..."


def verify(
    source: str | os.PathLike[str],
    *,
    inputs: str | os.PathLike[str] | None = None,
    plugins: Plugins = "on",
) -> Verification:
    """Evaluate stored predictions again, and say whether everything still holds.

    `source` is the folder of a run, a zip of it, or a stored evaluation. Files, settings, numbers
    with their exact sums, values per list, definitions, fingerprints and ledgers must all be as
    stored. An evaluation does not keep its predictions: its files are looked for in the folder
    `inputs`, beside it and in the current folder. Another version of rectitude, Python, NumPy or
    Polars is named, and is no change by itself. With `plugins` "off", no code that a run names is
    executed.
    """
    path, label = Path(source), os.fspath(source)
    with allow_plugins(plugins):
        if path.is_dir():
            return _verify_run(path, label)
        require_regular(path)
        if is_zipfile(path) and (_holds_run(path) or not holds_documents(path)):
            with unpack(path, _EXPECTED, _AGAIN) as folder:
                return _verify_run(_find_run(folder, label), label)
        if inputs is not None and not Path(inputs).is_dir():
            raise UnreadableFile(f"{inputs} is not a folder.", "the folder of the files.")
        return _verify_evaluations(path, label, None if inputs is None else Path(inputs))


def _holds_run(path: Path) -> bool:
    with open_archive(path, _EXPECTED, _AGAIN) as archive:
        names = archive.namelist()
    return any(name.rpartition("/")[2] == _RUN and name.count("/") < 2 for name in names)


def _find_run(folder: Path, label: str) -> Path:
    """Return the folder of the run in an unpacked archive."""
    found = [path.parent for path in (folder, *folder.iterdir()) for path in path.glob(_RUN)]
    if len(found) != 1:
        number = "no run" if not found else f"{len(found)} runs"
        raise UnreadableFile(f"{label} contains {number} ({_RUN}).", _EXPECTED)
    return found[0]


def _verify_run(folder: Path, label: str) -> Verification:
    if not (folder / _RUN).is_file():
        raise UnreadableFile(f"{label} has no {_RUN}.", _EXPECTED)
    run, findings = Run.open(folder), _Findings()
    _verify_files(folder, run, findings)
    loaded = _load_settings(folder, run, findings)
    parts = {facts["name"]: facts for facts in run.results["splits"]}
    for name, split in parts.items():
        if any(part.startswith("validation") for part in split["parts"]):
            continue  # its fingerprint covers parts that are not among the files for readers
        found = _read_split(folder, split).fingerprint
        findings.require("fingerprint", f"split {name}".strip(), split["fingerprint"], found)
    stored: dict[str, list[Evaluation]] = {}
    for model, facts in run.results["models"].items():
        for one in facts["runs"]:
            label_of_run = " ".join(word for word in (model, one["split"]) if word)
            evaluation = _evaluate_again(folder, loaded, parts[one["split"]], one, findings)
            if evaluation is not None:
                _compare_documents(label_of_run, one["evaluation"], evaluation, findings)
                frame = read_values(folder / one["values"], one["values"])
                _compare_values(label_of_run, frame, evaluation.per_list(), findings)
                stored.setdefault(model, []).append(restore_evaluation(one["evaluation"], frame))
    _verify_headline(run, stored, findings)
    return findings.result(label)


def _verify_files(folder: Path, run: Run, findings: _Findings) -> None:
    """Compare files with the hashes that the manifest of the run has of them."""
    manifest = _read_manifest(folder)
    hashes = {
        f"{stage['stage']}/{name}": (stage["key"], digest)
        for stage in manifest["stages"]
        for name, digest in stage["files"].items()
    }
    shown = [
        one[kind]
        for facts in run.results["models"].values()
        for one in facts["runs"]
        for kind in ("predictions", "values")
    ]
    shown += [path for split in run.results["splits"] for path in split["files"].values()]
    known = {digest for _, digest in hashes.values()}
    for name in shown:
        found = file_digest(folder / name) if (folder / name).is_file() else "no such file"
        findings.require("file", name, "as in the manifest", "as in the manifest"
                         if found in known else found)  # fmt: skip
    stages = folder / "stages"
    if not stages.is_dir():
        findings.note("stages/ is missing: only the files for readers were verified")
        return
    for name, (key, digest) in hashes.items():
        path = stages / key / name.rpartition("/")[2]
        found = file_digest(path) if path.is_file() else "no such file"
        findings.require("file", f"{name} (stages/{key})", digest, found)


def _read_manifest(folder: Path) -> Mapping[str, Any]:
    path = folder / "manifest.json"
    return require_format(read_stored(path, "manifest", _EXPECTED), str(path), "manifest", 1)


def _load_settings(folder: Path, run: Run, findings: _Findings) -> Loaded:
    """Return the settings of the run, which must be those of its copy of the file."""
    copies = sorted(folder.glob("config.*"))
    if copies and copies[0].suffix != ".json":
        copy = load(copies[0]).config.model_dump(mode="json", exclude_defaults=True)
        for key in sorted(copy.keys() | run.results["config"].keys()):
            settings = (run.results["config"].get(key), copy.get(key))
            findings.require("setting", f"{copies[0].name}, {key}", *settings)
    loaded = load(run.results["config"])
    environment = folder / "environment.json"
    facts = read_stored(environment, "environment", _EXPECTED) if environment.is_file() else {}
    require_keys(facts, str(environment), "environment")
    return replace(loaded, home=Path(facts["file"]).parent if facts.get("file") else folder)


def _read_split(folder: Path, facts: Mapping[str, Any]) -> Split:
    """Return a split from its files for readers."""
    parts = {
        part: Log(_read_rows(folder / path), facts["source"])
        for part, path in facts["files"].items()
    }
    if not {"train", "truth"} <= parts.keys():
        raise UnreadableFile(f"{folder} has no train or truth.", "a complete run.")
    return Split(parts["train"], parts["truth"], parts.get("fold_in"))


def _read_rows(path: Path) -> pl.DataFrame:
    """Read a table of a run."""
    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        cause = str(error).strip().partition("\n")[0].rstrip(".")
        raise UnreadableFile(f"{path} cannot be read: {cause}.", "rows as Parquet.") from error
    lacking = [name for name in ("user", "item") if name not in frame.columns]
    if lacking:
        raise UnreadableFile(f"{path} has no column {lacking[0]}.", "rows of users and items.")
    return frame


def _evaluate_again(
    folder: Path,
    loaded: Loaded,
    part: Mapping[str, Any],
    one: Mapping[str, Any],
    findings: _Findings,
) -> Evaluation | None:
    """Return the evaluation of a run's predictions; None if a file for it is missing."""
    path = folder / one["predictions"]
    if not path.is_file():
        return None
    split, candidates = _read_split(folder, part), None
    if loaded.config.candidates.kind:
        candidates = _find_candidates(folder, one["split"])
        if candidates is None:
            findings.note("the candidates are missing (stages/), so nothing was evaluated again")
            return None
    rows = _read_rows(path)
    try:
        return measure_lists(
            rows, split.truth, loaded.config.evaluate.slices, metrics=metrics_of(loaded),
            convention=convention_of(loaded), train=rows_known(split), candidates=candidates,
            intervals=True, **tables_of(loaded),
        )  # fmt: skip
    except NothingToEvaluate as error:
        findings.require("number", one["predictions"], "an evaluation", error.found)
        return None


def _find_candidates(folder: Path, split: str) -> Candidates | None:
    """Return the candidates of a split from the stages of a run."""
    manifest = _read_manifest(folder)
    wanted = "/".join(word for word in ("candidates", split) if word)
    keys = [stage["key"] for stage in manifest["stages"] if stage["stage"] == wanted]
    paths = [folder / "stages" / key / "candidates.parquet" for key in keys]
    return Candidates.load(paths[0]) if paths and paths[0].is_file() else None


def _compare_documents(
    label: str, stored: Mapping[str, Any], evaluation: Evaluation, findings: _Findings
) -> None:
    """Compare a stored evaluation with the one that was made now."""
    found = json.loads(evaluation.to_json())
    for name in [*stored["results"], *(n for n in found["results"] if n not in stored["results"])]:
        before, after = (side["results"].get(name, {}) for side in (stored, found))
        _compare_result(f"{label}: {name}", before, after, findings)
    for name in {**stored["failures"], **found["failures"]}:
        sides = (stored["failures"].get(name), found["failures"].get(name))
        findings.require("number", f"{label}: {name}, which failed", *sides)
    for side in ("predictions", "truth"):
        before, after = (
            document["manifest"].get("inputs", {}).get(side, {}).get("fingerprint", "")
            for document in (stored, found)
        )
        if before.partition(":")[0] == after.partition(":")[0]:
            findings.require("fingerprint", f"{label}: {side}", before, after)
        else:
            findings.note(f"fingerprints of {side} are of another release of Polars")
    counts = [document["ledger"]["counts"] for document in (stored, found)]
    findings.require("ledger", label, *(_count_entries(entries) for entries in counts))
    if "slices" in stored:
        findings.require("number", f"{label}: slices", stored["slices"], found.get("slices"))
    for name in _VERSIONS:
        before, after = (document["manifest"].get(name) for document in (stored, found))
        if before != after:
            findings.note(f"{name} was {before}, and is {after} now")


def _count_entries(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {name: [entry["count"], entry["of"]] for name, entry in entries.items()}


def _compare_result(
    where: str, stored: Mapping[str, Any], found: Mapping[str, Any], findings: _Findings
) -> None:
    for aspect, keys in (("number", _OF_NUMBER), ("definition", _OF_DEFINITION)):
        key = next((key for key in keys if stored.get(key) != found.get(key)), keys[0])
        name = where if key == keys[0] else f"{where}, {key}"
        kind: Any = aspect
        findings.require(kind, name, stored.get(key), found.get(key))


def _compare_values(
    label: str, stored: pl.DataFrame, found: pl.DataFrame, findings: _Findings
) -> None:
    """Compare the values of lists, bit by bit."""
    keys = [name for name in ("list", "user") if name in stored.columns]
    if keys != [n for n in ("list", "user") if n in found.columns] or stored.height != found.height:
        findings.require("value", f"{label}: lists", stored.height, found.height)
        return
    stored, found = (frame.sort(keys) for frame in (stored, found))
    for name in (one for one in stored.columns if one not in keys and one in found.columns):
        sides = [frame[name].fill_null(math.nan).to_numpy() for frame in (stored, found)]
        other = np.flatnonzero(
            ~((sides[0] == sides[1]) | (np.isnan(sides[0]) & np.isnan(sides[1])))
        )
        findings.counts["value"] = findings.counts.get("value", 0) + stored.height
        if len(other):
            first = stored[keys[0]][int(other[0])]
            where = f"of {label}: {name} of {len(other):,} lists (first: {first!r})"
            values = [repr(float(side[other[0]])) for side in sides]
            findings.changes.append(Deviation("value", where, *values))


def _verify_headline(
    run: Run, stored: Mapping[str, Sequence[Evaluation]], findings: _Findings
) -> None:
    """Compare the summary of a run with its evaluations."""
    found = json.loads(json.dumps(headline(stored)))
    for model, row in found.items():
        if len(stored[model]) == len(run.results["models"][model]["runs"]):
            findings.require("number", f"{model}: headline", run.results["headline"][model], row)


def _verify_evaluations(path: Path, label: str, inputs: Path | None) -> Verification:
    evaluations, findings = load_evaluations(path), _Findings()
    if not evaluations:
        raise UnreadableFile(f"{label} contains no evaluation.", _EXPECTED)
    for name, evaluation in evaluations.items():
        again = _evaluate_files(path, evaluation, inputs)
        title = name if len(evaluations) > 1 else "evaluation"
        document = json.loads(evaluation.to_json())
        if document.pop("slices", None):
            findings.note("numbers of slices were not computed again")
        _compare_documents(title, document, again, findings)
        if evaluation.lists is not None:
            _compare_values(title, evaluation.per_list(), again.per_list(), findings)
        else:
            findings.note("the values per list were not stored")
    return findings.result(label)


def _evaluate_files(path: Path, stored: Evaluation, inputs: Path | None) -> Evaluation:
    """Evaluate the files again that an evaluation was made from."""
    facts = stored.manifest.get("inputs", {})
    for side in ("predictions", "truth"):
        if side not in facts:
            raise UnreadableFile(f"{path} does not say what its {side} were.", _EXPECTED)
    sources = {side: _find_file(path, side, facts[side], inputs) for side in facts}
    columns = {side: dict(facts[side].get("columns", {})) for side in facts}
    list_key = (
        columns["predictions"].pop("list", "user") if "user" in columns["predictions"] else ""
    )
    options: dict[str, Any] = {side: sources[side] for side in _TABLES if side in sources}
    if list_key:
        options["list_key"] = list_key
    options["intervals"] = any(result.interval for result in stored.results.values())
    label = stored.manifest["profile"]
    names: Mapping[str, str] = {
        ours: typed for typed, ours in stored.manifest.get("names", {}).items()
    }
    if label in PROFILES:
        asked = [names.get(name, name) for name in (*stored.results, *stored.failures)]
        again: Evaluation = evaluate(
            sources["predictions"], sources["truth"], asked, label, **options
        )
        return again
    return _evaluate_by_switches(stored, sources, options)


def _evaluate_by_switches(
    stored: Evaluation, sources: Mapping[str, Any], options: Mapping[str, Any]
) -> Evaluation:
    """Evaluate under switches that no profile names: once for each set of metrics that share
    them."""
    groups: dict[str, list[str]] = {}
    for name, result in stored.results.items():
        groups.setdefault(json.dumps(dict(result.convention)), []).append(name)
    runs: list[Evaluation] = [
        evaluate(sources["predictions"], sources["truth"], names, json.loads(switches), **options)
        for switches, names in groups.items()
    ]
    results = {name: run.results[name] for run in runs for name in run.results}
    return replace(runs[0], results={name: results[name] for name in stored.results})


def _find_file(path: Path, side: str, facts: Mapping[str, Any], inputs: Path | None) -> Path:
    """Return the file that a table was read from."""
    name = Path(str(facts.get("source", ""))).name
    folders = [folder for folder in (inputs, path.parent, Path()) if folder is not None]
    found = [folder / name for folder in folders if name and (folder / name).exists()]
    if not found:
        raise UnreadableFile(
            f"{path} was made from {side} in {facts.get('source') or 'memory'}, which is not here.",
            "the files that it was made from, beside it or in the folder inputs= (--inputs).",
            "runs (rectitude run) keep their predictions and truth.",
        )
    return found[0]
