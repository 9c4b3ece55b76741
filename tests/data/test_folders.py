"""Folders: splits in the layouts of frameworks, and tables in several files."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import polars as pl
import pytest

import rectitude as rt
from rectitude.data.formats.folders import SEQUENCES
from rectitude.data.read import read
from rectitude.errors import BadArgument, BadIds, UnreadableFile, UnwritableFile
from rectitude.splits.files import FileFormat, open_parts, write
from rectitude.splits.split import Split

TYPED = "user_id:token\titem_id:token\trating:float\ttimestamp:float\n"
FRAMEWORKS = [form for form in get_args(FileFormat) if form not in ("parquet", "csv")]


def folder(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def rows(*triples: tuple[int, int, int], separator: str = "\t", header: str = "") -> str:
    lines = [separator.join(map(str, (user, item, 5, time))) for user, item, time in triples]
    return header + "".join(f"{line}\n" for line in lines)


TRAIN, VALID, TEST = [(1, 7, 10), (2, 8, 11)], [(1, 8, 12)], [(1, 9, 13), (2, 7, 14)]
NAMED = "user_id\titem_id\trating\ttimestamp\n"
SINGLE: dict[str, dict[str, str]] = {
    "recbole": {
        "shop.train.inter": rows(*TRAIN, header=TYPED),
        "shop.valid.inter": rows(*VALID, header=TYPED),
        "shop.test.inter": rows(*TEST, header=TYPED),
        "shop.item": "item_id:token\n7\n",
    },
    "recbole's benchmark files": {
        "shop.part1.inter": rows(*TRAIN, header=TYPED),
        "shop.part2.inter": rows(*VALID, header=TYPED),
        "shop.part3.inter": rows(*TEST, header=TYPED),
    },
    "elliot": {
        "0/test.tsv": rows(*TEST),
        "0/0/train.tsv": rows(*TRAIN),
        "0/0/val.tsv": rows(*VALID),
    },
    "warprec": {
        "train.tsv": rows(*TRAIN, header=NAMED),
        "validation.tsv": rows(*VALID, header=NAMED),
        "test.tsv": rows(*TEST, header=NAMED),
    },
    "recpack": {
        "full_training_data.csv": "iid,uid,interactionid,ts\n7,1,0,10\n8,2,1,11\n",
        "full_training_data_properties.yaml": "has_timestamps: true\n",
        "validation_data_out.csv": "iid,uid,interactionid,ts\n8,1,0,12\n",
        "test_data_out.csv": "iid,uid,interactionid,ts\n9,1,0,13\n7,2,1,14\n",
    },
    "plain": {
        "train.csv": "user,item\n1,7\n2,8\n",
        "dev.csv": "user,item\n1,8\n",
        "test.csv": "user,item\n1,9\n2,7\n",
        "notes.md": "nothing",
    },
}


def pairs(part: Any) -> list[tuple[Any, ...]]:
    return part.frame.select("user", "item").rows()


@pytest.mark.parametrize("name", SINGLE)
def test_file_names_identify_the_parts_of_a_split(name: str, tmp_path: Path) -> None:
    split = open_parts(folder(tmp_path, SINGLE[name]))
    assert isinstance(split, Split)
    assert split.validation is not None
    assert pairs(split.train) == [(1, 7), (2, 8)]
    assert pairs(split.validation.truth) == [(1, 8)]
    assert pairs(split.truth) == [(1, 9), (2, 7)]
    assert "train = " in split.ledger.notes["parts"]


@pytest.mark.parametrize("name", SINGLE)
def test_auditing_a_folder_equals_auditing_its_parts(name: str, tmp_path: Path) -> None:
    audit = rt.audit(folder(tmp_path, SINGLE[name]), metrics="recall@1")
    assert audit.sizes == {"train": 2, "validation": 1, "truth": 2}
    assert audit["validation_in_train"].severity == "fine"


@pytest.mark.parametrize(
    "files",
    [
        {
            "ml-1m.train.rating": rows(*TRAIN),
            "ml-1m.test.rating": rows(*TEST),
            "ml-1m.test.negative": "(1,9)\t3\t4\n(2,7)\t5\n",
        },
        {
            "train.txt": "1 7\n2 8 \n",
            "test.txt": "1 9 9 9 9\n2 7\n",
            "user_list.txt": "org remap\n",
        },
        {"train.tsv.gz": "", "test.tsv.gz": ""},
    ],
    ids=["ncf", "lightgcn", "compressed"],
)
def test_other_folders_of_train_and_truth_are_read(files: dict[str, str], tmp_path: Path) -> None:
    folder(tmp_path, files)
    for name, part in (("train.tsv.gz", TRAIN), ("test.tsv.gz", TEST)):
        if name in files:
            (tmp_path / name).write_bytes(gzip.compress(rows(*part).encode()))
    split = open_parts(tmp_path)
    assert isinstance(split, Split)
    assert pairs(split.train) == [(1, 7), (2, 8)]
    assert sorted(set(pairs(split.truth))) == [(1, 9), (2, 7)]


def test_words_may_end_with_id_but_words_without_it_take_precedence(tmp_path: Path) -> None:
    table = "user,item\n1,7\n2,8\n"
    ids = {f"{word}_id.csv": table for word in ("train", "valid", "test")}
    split = open_parts(folder(tmp_path / "ids", ids))
    assert isinstance(split, Split) and split.validation is not None
    assert "files left out" not in split.ledger.notes
    both = {**ids, "train.csv": "user,item\n1,9\n", "test.csv": "user,item\n2,9\n"}
    mixed = open_parts(folder(tmp_path / "both", {**both, "README.md": "", "pairs.txt": "1\n"}))
    assert isinstance(mixed, Split) and mixed.validation is not None
    assert (pairs(mixed.train), pairs(mixed.truth)) == ([(1, 9)], [(2, 9)])
    assert pairs(mixed.validation.truth) == [(1, 7), (2, 8)]
    assert mixed.ledger.notes["files left out"] == "pairs.txt, test_id.csv, train_id.csv"
    twice = folder(tmp_path / "twice", {**ids, "valid_id.tsv": "user\titem\n1\t7\n"})
    with pytest.raises(UnreadableFile, match="two files for validation_truth: valid_id"):
        open_parts(twice)


def test_an_audit_says_which_files_of_a_folder_were_left_out(tmp_path: Path) -> None:
    table = "user,item\n1,7\n2,8\n"
    files = {"0/train.csv": table, "0/test.csv": "user,item\n1,9\n", "0/vaild.csv": table}
    found = rt.audit(folder(tmp_path, files | {"other.train.csv": table}), metrics="recall@1")
    assert found.as_dict()["left_out"] == ["other.train.csv", "0/vaild.csv"]
    assert "files of the folder that were not audited: other.train.csv, 0/vaild.csv" in str(found)
    many = folder(tmp_path / "many", {"train.csv": table, "test.csv": table})
    folder(many, {f"{number:02}.txt": "" for number in range(30)})
    assert "11.txt and 18 more" in str(rt.audit(many, metrics="recall@1"))


def test_two_benchmark_files_are_train_and_truth(tmp_path: Path) -> None:
    files = {
        "s.part1.inter": rows(*TRAIN, header=TYPED),
        "s.part2.inter": rows(*TEST, header=TYPED),
    }
    split = open_parts(folder(tmp_path, files))
    assert isinstance(split, Split)
    assert (pairs(split.truth), split.validation) == ([(1, 9), (2, 7)], None)


def test_folds_are_sorted_by_number(tmp_path: Path) -> None:
    folds = {f"{n}/train.tsv": rows(*TRAIN) for n in range(11)}
    folds |= {f"{n}/test.tsv": rows((1, n, 5)) for n in range(11)}
    series = open_parts(folder(tmp_path, folds))
    assert isinstance(series, list)
    assert [pairs(split.truth)[0][1] for split in series] == list(range(11))
    assert [split.name for split in series[:3]] == ["0", "1", "2"]


def test_validation_folds_share_their_truth(tmp_path: Path) -> None:
    files = {"train.tsv": rows(*TRAIN, *VALID, header=NAMED), "test.tsv": rows(*TEST, header=NAMED)}
    files |= {f"{n}/train.tsv": rows(*TRAIN, header=NAMED) for n in (1, 2)}
    files |= {f"{n}/validation.tsv": rows(*VALID, header=NAMED) for n in (1, 2)}
    series = open_parts(folder(tmp_path, files))
    assert isinstance(series, list)
    assert [split.name for split in series] == ["1", "2"]
    assert series[0].train.frame.height == 3
    assert series[0].validation is not None
    assert series[0].validation.train.frame.height == 2
    assert pairs(series[0].truth) == pairs(series[1].truth)


def test_files_with_different_prefixes_are_different_splits(tmp_path: Path) -> None:
    files = {f"u{n}.{end}": rows((n, 7, 1)) for n in (1, 2) for end in ("base", "test")}
    series = open_parts(folder(tmp_path, files))
    assert isinstance(series, list)
    assert [split.name for split in series] == ["u1", "u2"]


def test_every_split_of_a_series_is_audited(tmp_path: Path) -> None:
    folds = {f"{n}/train.tsv": rows((1, 7, 1), (2, 8, 2), (2, 9, 3), (1, 5, 4)) for n in range(3)}
    folds |= {f"{n}/test.tsv": rows((1, 9, 5), (2, 7 + n, 6)) for n in range(3)}
    audit = rt.audit(folder(tmp_path, folds), metrics="recall@1")
    assert (audit.name, [*audit.others]) == ("0", ["1", "2"])
    assert audit["pairs_in_folds"].count == 1
    assert [single["truth_in_train"].count for single in (audit, *audit.others.values())] == [
        0,
        1,
        1,
    ]
    assert "Split 1: truth_in_train (serious) 1 of 2" in str(audit)
    assert audit.as_dict()["others"]["2"]["serious"] >= 1
    assert audit.exit_code == 1
    single = rt.audit(tmp_path / "1", metrics="recall@1")
    assert single.values == audit.others["1"].values
    assert single.others == {}
    same = rt.audit(open_parts(tmp_path), metrics="recall@1")
    assert same["pairs_in_folds"].count == 1
    alike = rt.audit([rt.split(LOG, "leave_last"), rt.split(LOG, "leave_last", n=2)])
    assert [alike.name, *alike.others] == ["1", "2"]
    with pytest.raises(BadArgument, match="predictions were given for 3 splits"):
        rt.audit(tmp_path, predictions={1: [9]})


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"a.csv": "user,item\n1,2\n"}, r"does not contain a train and a test file, only: a\.csv"),
        ({"train.csv": "user,item\n1,2\n"}, "does not contain a train and a test file"),
        (
            {"train.csv": "user,item\n1,2\n", "train.tsv": "1\t2\n", "test.csv": "1,2\n"},
            r"two files for train: train\.csv and train\.tsv",
        ),
    ],
)
def test_the_error_for_a_folder_without_a_split_lists_its_files(
    files: dict[str, str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UnreadableFile, match=message):
        open_parts(folder(tmp_path, files))
    with pytest.raises(UnreadableFile, match="is not a folder"):
        open_parts(tmp_path / "nowhere")


# writing

WHOLE = [form for form in get_args(FileFormat) if form not in SEQUENCES]
"""what holds every row; sequences leave out the first item of each user, which nothing precedes"""

LOG = pl.DataFrame(
    {
        "user": [1, 1, 1, 1, 2, 2, 2, 3, 3, 3],
        "item": [1, 2, 3, 4, 1, 3, 5, 2, 4, 5],
        "timestamp": range(10),
    }
)


@pytest.mark.parametrize("form", WHOLE)
@pytest.mark.parametrize("validation", [None, {"how": "leave_last"}])
def test_what_is_written_for_a_framework_is_read_back(
    form: FileFormat, validation: object, tmp_path: Path
) -> None:
    split = rt.split(LOG, "leave_last", validation=validation)
    assert isinstance(split, Split)
    write(split, tmp_path / "parts", form)
    back = open_parts(tmp_path / "parts")
    assert isinstance(back, Split)
    inner = split.validation
    learnt = split.train if inner is None or form not in FRAMEWORKS else inner.train
    assert sorted(pairs(back.train)) == sorted(pairs(learnt))
    assert sorted(pairs(back.truth)) == sorted(pairs(split.truth))
    assert (back.validation is None) == (inner is None)
    assert back.truth.frame["timestamp"].to_list() == split.truth.frame["timestamp"].to_list()


@pytest.mark.parametrize("form", WHOLE)
def test_a_series_is_written_and_read_back(form: FileFormat, tmp_path: Path) -> None:
    series = rt.split(LOG, "k_fold", folds=2)
    write(series, tmp_path / "parts", form)
    back = open_parts(tmp_path / "parts")
    assert isinstance(back, list)
    assert isinstance(series, list)
    assert [sorted(pairs(split.truth)) for split in back] == [
        sorted(pairs(split.truth)) for split in series
    ]


def test_every_framework_finds_its_files(tmp_path: Path) -> None:
    split = rt.split(LOG, "leave_last", validation={"how": "leave_last"})
    expected = {
        "recbole": ["recbole.test.inter", "recbole.train.inter", "recbole.valid.inter"],
        "elliot": ["0/0/train.tsv", "0/0/val.tsv", "0/test.tsv"],
        "warprec": ["test.tsv", "train.tsv", "validation.tsv"],
        "recpack": [
            f"{part}{end}"
            for part in ("test_out", "train", "validation_out")
            for end in (".csv", "_properties.yaml")
        ],
    }
    for form, names in expected.items():
        write(split, tmp_path / form, form)  # type: ignore[arg-type]
        root = tmp_path / form
        files = sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
        assert [name for name in files if not name.endswith("split.json")] == names
        assert sum(name.endswith("split.json") for name in files) == 1
    header = (tmp_path / "recbole" / "recbole.test.inter").read_text().splitlines()[0]
    assert header == "user_id:token\titem_id:token\ttimestamp:float"


def test_all_parts_for_recpack_have_the_size_of_the_whole(tmp_path: Path) -> None:
    write(rt.split(LOG, "leave_last"), tmp_path / "parts", "recpack")
    for part in ("train", "test_out"):
        text = (tmp_path / "parts" / f"{part}_properties.yaml").read_text()
        assert "num_items: 6" in text
        assert "num_users: 4" in text


def test_created_columns_are_reported(tmp_path: Path) -> None:
    assert write(rt.split(LOG, "leave_last"), tmp_path / "parts", "elliot") == (
        "grades were created: 1 in every row",
    )


def test_a_part_that_a_framework_cannot_store_is_refused(tmp_path: Path) -> None:
    split = rt.split(LOG.head(7), "fixed", truth=LOG.tail(1), fold_in=LOG[7:9])
    with pytest.raises(UnwritableFile, match="the part fold_in, which recbole"):
        write(split, tmp_path / "parts", "recbole")
    assert list(tmp_path.iterdir()) == []


def test_text_ids_as_positions_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    named = LOG.with_columns(user=pl.col("user").cast(pl.String) + "x")
    with pytest.raises(BadIds, match="needs whole numbers"):
        write(rt.split(named, "leave_last"), tmp_path / "parts", "recpack")
    assert list(tmp_path.iterdir()) == []


def test_parts_that_changed_since_writing_are_noticed(tmp_path: Path) -> None:
    write(rt.split(LOG, "leave_last"), tmp_path / "parts")
    path = tmp_path / "parts" / "truth.parquet"
    pl.read_parquet(path).head(2).write_parquet(path)
    with pytest.raises(UnreadableFile, match="fingerprint"):
        open_parts(tmp_path / "parts")


# tables in folders


def lenskit(root: Path) -> Path:
    """Write a dataset as LensKit saves it: entities with ids, relationships with their numbers."""
    root.mkdir()
    schema = {
        "name": "shop",
        "default_interaction": "rating",
        "entities": {"user": {"id_type": "str"}, "item": {"id_type": "int"}},
        "relationships": {
            "rating": {"entities": {"user": None, "item": None}, "interaction": True}
        },
    }
    (root / "schema.json").write_text(json.dumps(schema))
    pl.DataFrame({"user_id": ["ann", "bob"]}).write_parquet(root / "user.parquet")
    pl.DataFrame({"item_id": [70, 80, 90]}).write_parquet(root / "item.parquet")
    links = {"user_num": [0, 1, 1], "item_num": [2, 0, 1], "rating": [4.0, 5.0, 3.0]}
    schema_of = {"user_num": pl.Int32, "item_num": pl.Int32, "rating": pl.Float64}
    pl.DataFrame(links, schema=schema_of).write_parquet(root / "rating.parquet")
    return root


def test_a_lenskit_dataset_is_a_table(tmp_path: Path) -> None:
    table = read(lenskit(tmp_path / "train"), "log")
    assert table.frame.rows() == [("ann", 90, 4.0), ("bob", 70, 5.0), ("bob", 80, 3.0)]
    assert table.recognised.startswith("lenskit (it is a LensKit dataset")


def test_a_split_of_the_lenskit_command_is_read(tmp_path: Path) -> None:
    lenskit(tmp_path / "train")
    items = [[{"item_id": 80, "rating": 2.0}], [{"item_id": 90, "rating": 1.0}]]
    pl.DataFrame({"user_id": ["ann", "bob"], "items": items}).write_parquet(
        tmp_path / "test.parquet"
    )
    split = open_parts(tmp_path)
    assert isinstance(split, Split)
    assert pairs(split.train) == [("ann", 90), ("bob", 70), ("bob", 80)]
    assert pairs(split.truth) == [("ann", 80), ("bob", 90)]


def test_the_error_for_a_broken_dataset_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "schema.json").write_text("{}")
    with pytest.raises(UnreadableFile, match="does not describe any interactions"):
        read(tmp_path / "d", "log")


def test_parquet_in_pieces_is_one_table(tmp_path: Path) -> None:
    root = tmp_path / "recs.parquet"
    root.mkdir()
    for piece in range(2):
        frame = pl.DataFrame({"user": [piece], "item": [7], "score": [0.5]})
        frame.write_parquet(root / f"part-0000{piece}-c000.snappy.parquet")
    (root / "_SUCCESS").write_text("")
    table = read(root, "predictions")
    assert table.frame.rows() == [(0, 7, 0.5), (1, 7, 0.5)]
    assert table.recognised == "parquet (a table in 2 pieces)"


def test_the_error_for_a_folder_that_is_not_a_table_lists_its_files(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="is a folder") as caught:
        read(folder(tmp_path, SINGLE["plain"]), "truth")
    assert "dev.csv" in str(caught.value)
