"""The lines that a trec_eval program prints for random inputs, and the lines printed here.

    python -m golden.trec_lines --program trec_eval-10/trec_eval --release 10 --seed 1 --count 20

Inputs are qrels with grades, the judgements of several groups, preferences with and without
subgroups, and z-scores. Options are drawn as well. Prints every command whose lines differ, and
ends with exit code 1 if there is one.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from rectitude.cli import main as rectitude

QUERIES, DOCUMENTS = (6, 6, 40), 40
"""With 40 queries, means are often halves of the last decimal that is printed."""
LEFT_OUT = {9: (), 10: ("rbp ",)}
"""Lines that cannot be compared: rbp of release 10 reads uninitialised memory."""
DECLARED = ("num_rel ", "iprec_at_recall", "11pt_avg")
"""Lines with known differences, as the profiles say."""
Rows = list[tuple[object, ...]]


def draw_run(draw: random.Random, queries: Sequence[str]) -> Rows:
    """Return a run with ties."""
    return [
        (
            query,
            "Q0",
            f"d{document:02}",
            1,
            draw.choice((draw.random(), draw.randrange(4))),
            "tag-x",
        )
        for query in queries
        for document in draw.sample(range(DOCUMENTS), draw.randint(3, 25))
    ]


def draw_qrels(draw: random.Random, queries: Sequence[str], groups: int) -> Rows:
    """Return the grades of one or more groups."""
    return [
        (query, group, f"d{document:02}", draw.choice((0, 0, 1, 1, 2, 3)))
        for query in queries
        for group in range(draw.randint(1, groups))
        for document in sorted(draw.sample(range(DOCUMENTS), draw.randint(2, 20)))
    ]


def draw_preferences(draw: random.Random, queries: Sequence[str]) -> Rows:
    """Return preferences that do not contradict each other within a group."""
    rows: Rows = []
    for query in queries:
        for group in range(draw.randint(1, 3)):
            levels = [draw.choice((0, 0, 1, 2, 3)) for _ in range(DOCUMENTS)]
            for part in range(draw.randint(1, 3)):
                chosen = draw.sample(range(DOCUMENTS), draw.randint(2, 12))
                rows += [(query, f"g{group}", part, f"d{d:02}", levels[d]) for d in chosen]
    return rows


def write(path: Path, rows: Rows) -> str:
    """Write rows as lines."""
    path.write_text("".join(" ".join(map(str, row)) + "\n" for row in rows))
    return str(path)


def run_program(program: str, flags: Sequence[str], files: Sequence[str]) -> list[str]:
    """Return the lines that the program prints; none if it crashes, as it does for z-scores of a
    measure that comes after all those in the file."""
    done = subprocess.run([program, *flags, *files], capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else []


def run_ours(release: int, flags: Sequence[str], files: Sequence[str]) -> list[str]:
    """Return the lines that are printed here."""
    words = ["evaluate", files[1], "--truth", files[0], "--format", "trec_eval"]
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()):
        rectitude([*words, "--convention", f"trec_eval-{release}", *flags])
    return out.getvalue().splitlines()


def draw_command(
    draw: random.Random, folder: Path, release: int
) -> tuple[list[str], tuple[str, str]]:
    """Return options and files."""
    queries = [f"q{number}" for number in range(draw.choice(QUERIES))]
    complete = draw.random() < 0.5
    handed = draw.sample(queries, len(queries) * 2 // 3) if complete else queries
    flags = ["-q"] + (["-c"] if complete else []) + draw.choice(([], ["-M", "7"]))
    form = draw.choice(("qrels", "qrels_jg", "prefs", "qrels_prefs"))
    if form == "prefs":
        judged = write(folder / "judged", draw_preferences(draw, queries))
    else:
        judged = write(folder / "judged", draw_qrels(draw, queries, 1 if form == "qrels" else 3))
    run = write(folder / "run", draw_run(draw, handed))
    names = {"qrels": "all_trec", "qrels_jg": "qrels_jg"}.get(form, "all_prefs")
    flags += ["-R", form, "-m", names]
    if form.startswith("qrels") and "prefs" not in form and "-M" not in flags:
        flags += draw.choice(([], ["-J"]))
    if form in ("qrels", "qrels_jg"):
        flags += draw.choice(([], ["-l", "2"]))
    return flags, (judged, run)


def add_scores(draw: random.Random, folder: Path, lines: Sequence[str]) -> list[str]:
    """Return the option for z-scores, by random means of most of the measures that are printed."""
    fields = [line.split("\t") for line in lines]
    rows: Rows = [
        (query, label.strip(), draw.random(), draw.choice((0.0, draw.random(), draw.random())))
        for label, query, _ in fields
        if query != "all" and draw.random() < 0.9
    ]
    return ["-Z", write(folder / "scores", rows)]


def main() -> int:
    """Compare many commands."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--release", type=int, choices=(9, 10), required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    given = parser.parse_args()
    compared = different = declared = 0
    for number in range(given.count):
        draw = random.Random(f"{given.seed} {number}")
        with tempfile.TemporaryDirectory() as folder:
            flags, files = draw_command(draw, Path(folder), given.release)
            theirs = run_program(given.program, flags, files)
            if draw.random() < 0.25:
                flags += add_scores(draw, Path(folder), theirs)
                theirs = run_program(given.program, flags, files)
            ours = run_ours(given.release, flags, files) if theirs else []
        skipped = LEFT_OUT[given.release]
        both = [
            [x for x in lines if not x.lstrip("Z").startswith(skipped)] for lines in (theirs, ours)
        ]
        wrong = [pair for pair in zip(*both, strict=False) if pair[0] != pair[1]]
        missing = abs(len(both[0]) - len(both[1]))
        known = [pair for pair in wrong if pair[0].lstrip("Z").startswith(DECLARED)]
        wrong = [pair for pair in wrong if pair not in known]
        compared, declared = compared + len(both[0]), declared + len(known)
        different += len(wrong) + missing
        if wrong or missing:
            print(
                " ".join(flags),
                f"{len(both[0])} lines, here {len(both[1])};",
                *wrong[:4],
                sep="\n  ",
            )
    print(f"{compared} lines compared, {declared} known differences, {different} others")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
