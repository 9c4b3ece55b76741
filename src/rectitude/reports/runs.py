"""Reports of what lies in files: folders of runs, stored evaluations and comparisons."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from rectitude.aggregate.evaluation import from_dict
from rectitude.errors import BadName, UnreadableFile
from rectitude.reports.content import (
    Content,
    ReportStage,
    Value,
    Window,
    content_of,
    content_of_comparison,
    slices_of,
)
from rectitude.storage import read_stored, require_format

Stored = Mapping[str, Any]
Paths = Sequence[str | PathLike[str]]
_STEP = re.compile(r"step \d+: rows")
_ALL = ("train", "truth", "fold_in")
_EXPECTED_FILE = "the folder of a run, or a JSON file of an evaluation or a comparison."
_EXPECTED_RUN = "the folder of a run that has ended: rectitude run writes one."


def content_of_files(paths: Paths, title: str = "") -> Content:
    """What folders or files have to show: several runs or evaluations side by side, one
    comparison."""
    folders = [path for path in paths if Path(path).is_dir()]
    if folders and len(folders) < len(paths):
        raise BadName(
            f"{len(folders)} of {len(paths)} arguments are folders.", "runs or files, not both."
        )
    if folders:
        return content_of_run(paths[0], title) if len(paths) == 1 else side_by_side(paths, title)
    stored = {fspath(path): read_stored(path, "result", _EXPECTED_FILE) for path in paths}
    kinds = {path: _kind(one, path) for path, one in stored.items()}
    if len(paths) == 1 and set(kinds.values()) == {"comparison"}:
        ((path, one),) = stored.items()
        return content_of_comparison(require_format(one, path, "comparison", 1), title)
    names = map(_name, told_apart(paths))
    evaluations = {
        name: from_dict(stored[fspath(path)], fspath(path))
        for name, path in zip(names, paths, strict=True)
    }
    return content_of(evaluations, title)


def _kind(stored: object, path: str) -> str:
    found: Any = stored.get("format") if isinstance(stored, Mapping) else None
    kind = str(found).removeprefix("rectitude.")
    if kind not in ("evaluation", "comparison"):
        raise UnreadableFile(f"{path} holds {found!r}.", _EXPECTED_FILE)
    return kind


def _name(path: str) -> str:
    return path.removesuffix(".json").removesuffix(".evaluation")


def content_of_run(folder: str | PathLike[str], title: str = "") -> Content:
    """What a run has to show."""
    results = _read(folder, "results.json", "run")
    models = {name: one["runs"] for name, one in results["models"].items() if one["runs"]}
    first = {name: runs[0]["evaluation"] for name, runs in models.items()}
    metrics = dict.fromkeys(name for one in first.values() for name in one["results"])
    facts = {name: _facts(first, name) for name in metrics}
    return Content(
        title=title or _title(results),
        values=_values(results["headline"], metrics),
        best=results["best"],
        definitions={name: one["definition"] for name, one in facts.items()},
        conventions={name: one["convention"] for name, one in facts.items()},
        about=results["about"],
        main=(results.get("robustness") or {}).get("metric", ""),
        comparison=results["comparison"],
        slices=[one for name, told in first.items() for one in slices_of(name, told.get("slices"))],
        windows=_windows(results, models),
        audit=_audit(results["splits"]),
        flow=_flow(fspath(folder), results["splits"]),
        ledgers={name: one["ledger"] for name, one in first.items()},
        robustness=results.get("robustness"),
        explanation=results.get("explanation"),
        failures={one["stage"]: _why(one) for one in results["failures"]},
        details=_details(results),
        reproduce=_reproduce(_config(folder)),
        part=results["splits"][0]["name"] if len(results["splits"]) > 1 else "",
    )


def side_by_side(folders: Sequence[str | PathLike[str]], title: str = "") -> Content:
    """Several runs on one page: every model under the name of its run."""
    contents = {
        name: content_of_run(folder)
        for name, folder in zip(told_apart(folders), folders, strict=True)
    }
    metrics = dict.fromkeys(name for one in contents.values() for name in one.values)
    values = {
        name: {
            f"{run}: {model}": value
            for run, one in contents.items()
            for model, value in one.values.get(name, {}).items()
        }
        for name in metrics
    }
    parts = [*contents.values()]
    return replace(
        parts[0],
        title=title or " and ".join(contents),
        values=values,
        best={name: best for one in parts for name, best in one.best.items()},
        definitions=_where_same(contents, "definitions"),
        conventions=_where_same(contents, "conventions"),
        comparison=None, slices=(), windows=(), robustness=None, explanation=None, flow=(),
        audit=None, part="",
        ledgers=_under_runs(contents, "ledgers"),
        failures=_under_runs(contents, "failures"),
        details={run: one.details for run, one in contents.items()},
        reproduce="\n".join(one.reproduce for one in parts),
        side_by_side=list(contents),
    )  # fmt: skip


def told_apart(paths: Sequence[str | PathLike[str]]) -> list[str]:
    """Names of files or folders: as much of each one's path, from its end, as tells them apart."""
    parts = [Path(path).resolve().parts for path in paths]
    for size in range(1, max(map(len, parts)) + 1):
        names = ["/".join(own[-size:]) for own in parts]
        if len(set(names)) == len(names):
            return names
    again = next(path for path, own in zip(paths, parts, strict=True) if parts.count(own) > 1)
    raise BadName(f"{fspath(again)} was named twice.", "each run or file once.")


def _under_runs(contents: Mapping[str, Content], what: str) -> dict[str, Any]:
    """What the runs say of each model, under the name of the run."""
    return {
        f"{run}: {name}": said
        for run, one in contents.items()
        for name, said in getattr(one, what).items()
    }


def _where_same(contents: Mapping[str, Content], what: str) -> dict[str, Any]:
    """What the runs say of each metric; of different sayings each under the name of its run."""
    found: dict[str, Any] = {}
    for run, one in contents.items():
        for name, said in getattr(one, what).items():
            if found.get(name, said) == said:
                found[name] = said
            else:
                found[f"{name} in {run}"] = said
    return found


def _read(folder: str | PathLike[str], name: str, kind: str) -> Stored:
    path = Path(folder) / name
    return require_format(read_stored(path, kind, _EXPECTED_RUN), str(path), kind, 1)


def _facts(models: Mapping[str, Stored], name: str) -> Stored:
    found: Stored = next(one["results"][name] for one in models.values() if name in one["results"])
    return found


def _values(headline: Stored, metrics: Mapping[str, None]) -> dict[str, dict[str, Value]]:
    return {
        name: {model: _value(of[name]) for model, of in headline.items() if name in of}
        for name in metrics
    }


def _value(told: Stored) -> Value:
    low, high = told["interval"] or (None, None)
    return Value(value=told["value"], low=low, high=high, deviation=told["deviation"])


def _windows(results: Stored, models: Mapping[str, Sequence[Stored]]) -> list[Window]:
    """The numbers of every split of a series; a run with one split has no course in time."""
    names = [split["name"] for split in results["splits"]]
    if len(names) < 2:
        return []
    return [_window(name, models, results["splits"][nth]) for nth, name in enumerate(names)]


def _window(name: str, models: Mapping[str, Sequence[Stored]], split: Stored) -> Window:
    values: dict[str, dict[str, float | None]] = {}
    for model, runs in models.items():
        for run in (one for one in runs if one["split"] == name):
            for metric, result in run["evaluation"]["results"].items():
                values.setdefault(metric, {})[model] = result["value"]
    truth = split["parts"].get("truth", {})
    facts = {
        f"{what} in truth": truth[what] for what in ("rows", "users", "items") if what in truth
    }
    return Window(label=name, values=values, facts=facts)


def _audit(splits: Sequence[Stored]) -> Stored | None:
    """What was found in the splits: of several, the worst of each finding."""
    audits = [split["audit"] for split in splits if split["audit"]]
    if not audits:
        return None
    worst = ("serious", "notice", "fine")
    every = [finding for audit in audits for finding in audit["findings"]]
    every.sort(key=lambda finding: worst.index(finding["severity"]))
    found: dict[str, Any] = {}
    for finding in every:
        found.setdefault(finding["name"], finding)
    return {**audits[0], "findings": list(found.values())}


def _flow(folder: str, splits: Sequence[Stored]) -> list[ReportStage]:
    """Rows from the source through every step of preparing to the parts of the first split."""
    ledger = read_stored(Path(folder) / "ledger.json", "ledger", _EXPECTED_RUN)
    counts = ledger.get("prepare", {}).get("counts", {})
    steps = [entry for name, entry in counts.items() if _STEP.fullmatch(name)]
    parts = splits[0]["parts"] if splits else {}
    whole = [parts[name]["rows"] for name in parts if name in _ALL] if len(splits) == 1 else []
    first = steps[0]["of"] if steps else sum(whole)  # a window is not all of the log
    stages = [ReportStage(label="the log", rows=first)] if first else []
    for entry in steps:
        label = entry["about"].split(", ", 1)[-1]
        dropped = entry["of"] - entry["count"]
        about = f"{entry['count']:,} of {entry['of']:,} rows left"
        stages.append(ReportStage(label=label, rows=entry["count"], dropped=dropped, about=about))
    return [*stages, *(_part(name, size) for name, size in parts.items())]


def _part(name: str, size: Stored) -> ReportStage:
    words = f"{size['users']:,} users, {size['items']:,} items"
    label = name.replace("_", " ")
    return ReportStage(
        label=label, rows=size["rows"], users=size["users"], items=size["items"], about=words
    )


def _details(results: Stored) -> dict[str, Any]:
    """How the numbers were made; how many trials each model got stands first."""
    tuned = {name: one["trials"] for name, one in results["models"].items() if one["trials"]}
    parameters = {
        name: [run["parameters"] for run in one["runs"]] for name, one in results["models"].items()
    }
    told = {"trials of tuning": tuned, "parameters": parameters, "settings": results["config"]}
    splits = [{k: v for k, v in one.items() if k != "audit"} for one in results["splits"]]
    told |= {"splits": splits, "version": results["rectitude"]}
    return {name: value for name, value in told.items() if value}


def _why(failure: Stored) -> str:
    """What failed in words, then where it arose."""
    return "\n".join([f"{failure['kind']}: {failure['message']}", failure["traceback"] or ""])


def _title(results: Stored) -> str:
    return str((results["config"].get("report") or {}).get("title") or results["name"])


def _reproduce(config: str) -> str:
    return (
        f"# {config} of the run's folder is the file of the experiment: put it where that lay,\n"
        f"# since paths in it are relative to its own place\nrectitude run {config}"
    )


def _config(folder: str | PathLike[str]) -> str:
    found = sorted(Path(folder).glob("config.*"))
    return str(found[0].name) if found else "config.toml"
