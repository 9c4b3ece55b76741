"""Valid inputs of every kind, and commands that take them: what the damage starts from.

A folder of small files is made once, through the command line itself, so that every format that can
be written is there. A command names the file that will be damaged `@`.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np

from rectitude.cli import main
from rectitude.data.formats.registry import FORMATS, format_named

USERS, ITEMS = range(6), range(12)
ENDINGS = {"lenskit": ".parquet", "recpack": ".csv"}
"""Endings of formats that have none of their own; the others are text separated by tabs."""
PACKED = (".gz", ".bz2", ".xz", ".zst", ".lz4", ".zip")
EXPERIMENT = """\
name = "small"

[data]
path = "log.csv"

[[prepare]]
step = "deduplicate"
keep = "first"

[split]
how = "random_ratio"
ratio = 0.3

[audit]
mode = "off"

[models.popularity]

[models.random]

[evaluate]
metrics = ["ndcg@3", "recall@3"]
slices = ["activity:2"]

[explain]
mode = "off"

[report]
mode = "off"
"""
PROFILE = """\
framework = "A shop's evaluator"
versions = ["2.1"]
about = "Average precision over what fits the cutoff."

[convention]
ap_over = "reachable"
list_needed = "items"

[metrics.hits]
metric = "hit"
hit_as = "count"

[variants]
burges = { gain = "exp2" }

[known_differences]
"""
RECIPE = """\
[[steps]]
step = "deduplicate"
keep = "first"

[[steps]]
step = "k_core"
users = 1
items = 1
"""


@dataclass(frozen=True)
class Command:
    """A valid command; `@` stands for the file or folder to damage, of the given kind."""

    text: str
    kind: str

    @property
    def verb(self) -> str:
        """The command's first word."""
        return self.text.split()[0]

    @property
    def words(self) -> list[str]:
        """The words of the command."""
        return self.text.split()


_SCORED = "--score-users ids/users.csv --score-items ids/items.csv"
COMMANDS = tuple(
    Command(text, kind)
    for kind, texts in {
        "predictions": (
            "evaluate @ --truth truth.csv",
            "evaluate @ --truth truth.csv --metrics ndcg@{2,5} mrr --per-list lists.parquet",
            "evaluate other.csv @ --truth truth.csv --json --output two.json",
            "compare other.csv @ --truth truth.csv --metrics ndcg@3 --interval bca --resamples 100",
            "explain @ --truth truth.csv --metric ndcg@3 --first ranx --second recbole",
            "identify @ --truth truth.csv --metric ndcg@3 --value 0.5 --most 50",
            "robustness other.csv @ --truth truth.csv --metric ndcg@3 --profiles ranx recbole",
            "trace @ --truth truth.csv --metric ndcg@3 --user 1",
            "diagnose @ --truth truth.csv --at 3 --output said.txt",
            "audit --train train.csv --truth truth.csv --predictions @",
            "convert @ out.parquet --as predictions",
            "evaluate @ --truth truth.csv --format trec_eval -q",
            "evaluate @ --truth truth.csv --memory 400 --metrics ndcg@3 gini@3",
            "evaluate other.csv @ --truth truth.csv --memory 1KB --train train.csv",
        ),
        "truth": (
            "evaluate lists.csv --truth @",
            "evaluate lists.csv --truth @ --metrics map@3 err@3 --definitions --output said.txt",
            "compare lists.csv other.csv --truth @ --metrics ndcg@3",
            "explain lists.csv --truth @ --metric ndcg@3 --first ranx --second recbole",
            "identify lists.csv --truth @ --metric ndcg@3 --value 0.5 --most 50",
            "robustness lists.csv other.csv --truth @ --metric ndcg@3 --profiles ranx recbole",
            "trace lists.csv --truth @ --metric ndcg@3 --user 1",
            "diagnose lists.csv --truth @ --at 3",
            "audit --train train.csv --truth @",
            "candidates --train train.csv --truth @ --set count=2 --output c.parquet",
            f"evaluate --scores scores.npy --truth @ {_SCORED}",
            "convert @ out.csv --as truth",
            "evaluate lists.csv --truth @ --memory 400 --per-list lists.parquet",
        ),
        "rows": (
            "evaluate @ --truth letor/rows.letor",
            "evaluate @ --truth letor/sized.txt --convention lightgbm --metrics ndcg@3",
        ),
        "queries": (
            "evaluate letor/numbers.txt --truth @ --metrics ndcg@3 err@3",
            "evaluate letor/numbers.txt --truth @ --convention xgboost --metrics map@3",
            "convert @ out.csv --as truth",
        ),
        "sizes": ("evaluate letor/numbers.txt --truth letor/sized.txt --metrics ndcg@3",),
        "subtopics": (
            "evaluate lists.csv --truth @ --metrics alpha_ndcg@3 subtopic_recall@3 ap_ia",
            "evaluate lists.csv --truth @ --convention ir_measures --metrics alpha_DCG@3",
            "explain lists.csv --truth @ --metric alpha_ndcg@3 --first ir_measures",
            "evaluate lists.csv --truth @ --metrics alpha_ndcg@3 --memory 400",
        ),
        "log": (
            "split @ --how leave_last --output new",
            "split @ --how random_ratio --set ratio=0.2 --recipe recipe.toml",
            "candidates --train @ --truth truth.csv --set count=2",
            "audit --train @ --truth truth.csv --json",
            "evaluate lists.csv --truth truth.csv --train @ --metrics average_popularity@3",
            "convert @ out.inter --as truth",
            "convert @ out.json",
        ),
        "candidates": (
            "evaluate lists.csv --truth truth.csv --candidates @ --metrics ndcg@3",
            "candidates --train train.csv --truth truth.csv --how given --given @",
            "convert @ out.csv --as candidates",
        ),
        "items": (
            "evaluate lists.csv --truth truth.csv --items @ --slices category",
            "evaluate lists.csv --truth truth.csv --items @ --metrics item_coverage@3 gini@3",
            "candidates --train train.csv --truth truth.csv --set count=2 --items @",
            "audit --train train.csv --truth truth.csv --items @",
        ),
        "users": (
            "evaluate lists.csv --truth truth.csv --users @ --slices gender",
            "compare lists.csv other.csv --truth truth.csv --metrics mrr --users @ --slice gender",
        ),
        "weights": (
            "evaluate lists.csv --truth truth.csv --weights @",
            "diagnose lists.csv --truth truth.csv --weights @",
        ),
        "ranking": (f"evaluate --scores scores.npy --truth truth.csv --ranking @ {_SCORED}",),
        "scores": (
            f"evaluate --scores @ --truth truth.csv {_SCORED}",
            f"evaluate --scores @ --truth truth.csv --train train.csv {_SCORED} --output s.zip",
            f"audit --scores @ --truth truth.csv {_SCORED}",
            f"trace --scores @ --truth truth.csv --metric ndcg@3 --user 1 {_SCORED}",
            f"diagnose --scores @ --truth truth.csv {_SCORED}",
        ),
        "logits": (
            "evaluate --logits @ --targets targets.npy --baselines",
            "audit --logits @ --targets targets.npy",
            "diagnose --logits @ --targets targets.npy --json",
        ),
        "targets": (
            "evaluate --logits logits.npy --targets @",
            "evaluate --logits logits.npy --targets targets.npy --train-targets @ --baselines",
        ),
        "ids": ("evaluate --scores scores.npy --truth truth.csv --score-users @",),
        "evaluation": (
            "compare @ saved/other.zip --metrics ndcg@3",
            "compare a=@ b=saved/other.zip --baseline a --test sign_flip --resamples 100 --json",
            "report @ saved/other.json --output both.html",
            "explain @ saved/other.json",
            "board . --output board.html",
            "verify @ --inputs . --json",
            "explain lists.csv --truth truth.csv --metric ndcg@3 --first @ --second ranx",
        ),
        "run": (
            "report @ --output page.html",
            "report @ --figures figures --json",
            "run experiment.toml --folder @ --log quiet",
            "verify @",
            "verify @ --json",
            "board @ --output board.html",
            "board . --json",
            "compare @ saved/other.zip --metrics ndcg@3",
        ),
        "split": (
            "candidates @ --set count=2 --output c.parquet",
            "audit --split @",
            "run parts.toml --log quiet",
        ),
        "experiment": (
            "run @ --log quiet",
            "run @ --dry-run",
            "run @ --only popularity --log json --no-plugins",
        ),
        "recipe": ("split log.csv --recipe @", "run prepared.toml --dry-run"),
        "profile": (
            "profiles show @",
            "profiles diff @ ranx --metric ndcg@10",
            "evaluate lists.csv --truth truth.csv --convention @",
            "metrics ndcg@10 --convention @",
            "compare lists.csv other.csv --truth truth.csv --metrics ndcg@3 --convention @",
        ),
        "golden": ("conformance @", "conformance @ --json"),
        "": (
            "metrics ndcg@10",
            "metrics --guide",
            "profiles show ranx",
            "sample here",
            "sample --json",
            "doctor",
            "doctor --json",
            "demo --seed 3 --folder truth.csv",
            "convert --formats",
            "run --init new.toml",
            "run --schema",
        ),
    }.items()
    for text in texts
)
"""Valid commands by the kind of the file that is damaged; the last ones take no file."""


def make_valid(folder: Path) -> dict[str, list[str]]:
    """Write valid files of every kind, and return their names by kind."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_tables(folder)
    _write_arrays(folder)
    _write_words(folder)
    with chdir(folder), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        formats = dict(_convert_all())
        _make_stored()
    saved = ("saved/lists.zip", "saved/lists.json", "saved/lists.parquet", "saved/two.zip")
    return formats | {
        "items": ["items.csv", "items.json", "items.parquet"],
        "users": ["users.csv", "users.jsonl"],
        "weights": ["weights.csv"],
        "rows": ["letor/numbers.txt"],
        "queries": ["letor/rows.letor", "letor/sized.txt"],
        "sizes": ["letor/sized.txt.query"],
        "subtopics": ["subtopics.csv", "subtopics.qrels", "subtopics.parquet"],
        "ranking": ["ranking.csv"],
        "scores": ["scores.npy", "scores.npz"],
        "logits": ["logits.npy"],
        "targets": ["targets.npy"],
        "ids": ["ids/users.csv"],
        "evaluation": list(saved),
        "run": ["small"],
        "split": ["parts"],
        "experiment": ["experiment.toml", "experiment.yaml", "experiment.json"],
        "recipe": ["recipe.toml"],
        "profile": ["profile.toml"],
        "golden": ["golden"],
    }


def _write_tables(folder: Path) -> None:
    chance = random.Random(0)  # noqa: S311  (no secrets here)
    rows = {"lists": [], "other": [], "truth": [], "train": [], "log": [], "ranking": []}
    for user in USERS:
        items = chance.sample(ITEMS, 9)
        for place, item in enumerate(items[:5], 1):
            rows["lists"].append((user, item, round(chance.random(), 3)))
            rows["other"].append((user, items[-place], round(chance.random(), 3)))
            rows["ranking"].append((user, item, place))
        rows["truth"] += [(user, item, chance.randint(1, 3)) for item in items[2:6]]
        rows["train"] += [(user, item, 1) for item in items[6:]]
        rows["log"] += [
            (user, item, chance.randint(1, 5), 1_000_000 + 60 * chance.randrange(9999))
            for item in items
        ]
    heads = {"lists": "user,item,score", "other": "user,item,score", "truth": "user,item,grade",
             "train": "user,item,grade", "log": "user,item,rating,timestamp",
             "ranking": "user,item,rank"}  # fmt: skip
    for name, lines in rows.items():
        text = "\n".join(",".join(map(str, line)) for line in lines)
        (folder / f"{name}.csv").write_text(f"{heads[name]}\n{text}\n")
    (folder / "ids").mkdir(exist_ok=True)
    many = {
        "users.csv": ["user,gender", *(f"{u},{'fm'[u % 2]}" for u in USERS)],
        "items.csv": ["item,category", *(f"{i},{'abc'[i % 3]}" for i in ITEMS)],
        "weights.csv": ["user,weight", *(f"{u},{u + 1}.5" for u in USERS)],
        "ids/users.csv": ["user", *map(str, USERS)],
        "ids/items.csv": ["item", *map(str, ITEMS)],
        "users.jsonl": [json.dumps({"user": u, "gender": "fm"[u % 2]}) for u in USERS],
        "items.json": [json.dumps([{"item": i, "category": "abc"[i % 3]} for i in ITEMS])],
    }
    topics = [(u, t, i, (u + t + i) % 3) for u in USERS for t in range(2) for i in ITEMS]
    many["subtopics.qrels"] = [f"{u} {t} {i} {grade}" for u, t, i, grade in topics]
    many["subtopics.csv"] = ["user,subtopic,item,grade"]
    many["subtopics.csv"] += [",".join(map(str, topic)) for topic in topics]
    many["letor/numbers.txt"] = [f"0.{place % 7}" for place in range(3 * len(USERS))]
    rows = [f"{n % 3} qid:{u} 1:0.{n} # d{n}" for u in USERS for n in range(3)]
    many["letor/rows.letor"] = rows
    many["letor/sized.txt"] = [row.replace("qid:", "3:") for row in rows]
    many["letor/sized.txt.query"] = ["3" for _ in USERS]
    (folder / "letor").mkdir(exist_ok=True)
    for name, lines in many.items():
        (folder / name).write_text("\n".join(lines) + "\n")


def _write_arrays(folder: Path) -> None:
    import polars as pl

    draws = np.random.default_rng(0)
    scores = draws.random((len(USERS), len(ITEMS))).astype(np.float32)
    np.save(folder / "scores.npy", scores)
    np.savez_compressed(folder / "scores.npz", scores=scores)
    np.save(folder / "logits.npy", draws.normal(size=(20, 5)))
    np.save(folder / "targets.npy", draws.integers(0, 5, 20))
    for name in ("items", "subtopics"):
        pl.read_csv(folder / f"{name}.csv").write_parquet(folder / f"{name}.parquet")


def _write_words(folder: Path) -> None:
    import tomllib

    import yaml

    config = tomllib.loads(EXPERIMENT)
    prepared = EXPERIMENT.replace('[[prepare]]\nstep = "deduplicate"\nkeep = "first"\n', "")
    parted = prepared.replace('how = "random_ratio"\nratio = 0.3', 'parts = "parts"')
    parted = parted.replace('[data]\npath = "log.csv"\n', "")
    texts = {
        "experiment.toml": EXPERIMENT,
        "experiment.yaml": yaml.safe_dump(config),
        "experiment.json": json.dumps(config, indent=1),
        "prepared.toml": 'prepare = "recipe.toml"\n' + prepared,
        "parts.toml": parted,
        "profile.toml": PROFILE,
        "recipe.toml": RECIPE,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    source = Path(__file__).parents[1] / "conformance" / "golden"
    shutil.copytree(source / "cases" / "ranx", folder / "golden/cases/ranx")
    shutil.copytree(source / "inputs" / "runs-hand", folder / "golden/inputs/runs-hand")
    for case in (folder / "golden/cases/ranx").glob("*.json"):
        if case.name != "runs-hand.json":
            case.unlink()


def _convert_all() -> Iterator[tuple[str, list[str]]]:
    """Write the tables in every format that can hold them, and text also compressed."""
    for kind, source in (("predictions", "lists"), ("truth", "truth"), ("log", "log")):
        names = [f"{source}.csv"]
        for form in FORMATS:
            names += _convert(source, "truth" if kind == "log" else kind, form)
        names += _write_letor(source, kind)
        for packing in PACKED:
            names += _convert(source, "truth" if kind == "log" else kind, "csv", packing)
        yield kind, names
    main(["candidates", "--train", "train.csv", "--truth", "truth.csv", "--set", "count=3",
          "--output", "chosen.parquet"])  # fmt: skip
    Path("pairs.negative").write_text("".join(f"({u},{u})\t{u + 1}\t{u + 2}\n" for u in USERS))
    yield "candidates", ["chosen.parquet", "pairs.negative", "train.csv"]


def _write_letor(source: str, kind: str) -> list[str]:
    """Write rows as SVMlight, which `convert` does not, with queries and with their sizes beside
    them; scores stand before labels."""
    path = Path(f"formats/{source}/rows.letor")
    first = "0.5 " if kind == "predictions" else ""
    rows = [f"{first}{u % 3} qid:{u} 1:0.{u} 2:1 # d{u}\n" for u in USERS]
    path.write_text("".join(rows))
    sized = Path(f"formats/{source}/sized.txt")
    sized.write_text("".join(rows).replace("qid:", "3:"))
    Path(f"{sized}.query").write_text("1\n" * len(rows))
    return [str(path), str(sized)]


def _convert(source: str, kind: str, form: str, packing: str = "") -> list[str]:
    known = format_named(form)
    ending = known.suffixes[0] if known.suffixes else ENDINGS.get(form, ".tsv")
    folder = Path("formats") / source
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{folder}/{form}{ending}{packing}"
    words = ["convert", f"{source}.csv", name, "--to", form, "--as", kind]
    return [name] if known.write is not None and main(words) == 0 else []


def _make_stored() -> None:
    """Evaluations, a split and a run, as the command line stores them."""
    asked = ["--truth", "truth.csv", "--metrics", "ndcg@3", "recall@3"]
    for name in ("lists", "other"):
        saved = [f"saved/{name}.{ending}" for ending in ("zip", "json", "parquet")]
        Path("saved").mkdir(exist_ok=True)
        main(["evaluate", f"{name}.csv", *asked, "--output", saved[0]])
        main(["evaluate", f"{name}.csv", *asked, "--json", "--output", saved[1],
              "--per-list", saved[2]])  # fmt: skip
    main(["evaluate", "lists.csv", "other.csv", *asked, "--output", "saved/two.zip"])
    main(["split", "log.csv", "--how", "leave_last", "--output", "parts"])
    main(["run", "experiment.toml", "--folder", "small", "--log", "quiet"])
