"""Malformed inputs, thousands of them: does every command refuse them as it should?

python tests/fuzz/malformed.py --count 3000 --seed 1 --jobs 2
python tests/fuzz/malformed.py --seed 1 --only 17 --keep here    one input again, to look at

Valid commands and files of every kind are damaged at random. Each must end within 10 seconds of
work and 1 GB, with exit 2 and one readable message, and leave nothing behind. Input that is still
legitimate after the damage may be accepted. Whatever breaks this is listed with the command that
shows it; its folder is kept in tests/fuzz/found.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from random import Random

import typer
from corpus import entry_of
from damage import Damage, damage
from damaged_words import damage_settings, damage_words
from trial import SECONDS, Ended, Worker
from valid import COMMANDS, Command, make_valid

from rectitude.cli.app import app

FOUND = Path(__file__).resolve().parent / "found"
LIKELY_WORDS, LIKELY_SETTINGS = 0.15, 0.04
LIMIT = "400MB"
"""What one file may expand to; the default depends on the machine."""
KEPT = {"run": "runs/"}
"""Folders in which a command keeps finished stages, also when it ends with an error."""
NAMED_WITHIN = {
    "run": ("log.csv", "recipe.toml", "parts"),
    "evaluate": ("letor/sized.txt", "letor/sized.txt.query"),
    "convert": ("letor/sized.txt.query",),
}
"""Files that no word of a command names, but its file does, or that belong to it."""


@dataclass(frozen=True)
class Case:
    """One malformed input: a command in a folder of its own."""

    number: int
    verb: str
    form: str
    damage: Damage
    words: tuple[str, ...]
    folder: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    """what is set in the environment"""

    @property
    def line(self) -> str:
        """The command as one would type it."""
        settings = "".join(f"{name}={shlex.quote(v)} " for name, v in self.settings.items())
        return f"{settings}rectitude {shlex.join(self.words)}"

    def __str__(self) -> str:
        return f"cd {self.folder} && {self.line}"


Violation = tuple[Case, Ended, list[str]]
Counts = Counter[tuple[str, str, str]]
OUTCOMES = ("refused", "legitimate", "violations")


class Generator:
    """Makes any case of a seed: case 17 is the same whether or not the others were made."""

    def __init__(self, seed: int, place: Path) -> None:
        self.seed, self.place = seed, place
        self.valid = place / "valid"
        self.files = make_valid(self.valid)
        group = typer.main.get_command(app)
        self.options = {
            verb: [name for option in command.params for name in option.opts if name[:2] == "--"]
            for verb, command in group.commands.items()
        }

    def case(self, number: int) -> Case:
        """Make a folder with a damaged file, or damage a command's words."""
        chance = Random(f"{self.seed}:{number}")  # noqa: S311  (no secrets here)
        command = chance.choice(COMMANDS)
        verb = command.verb
        name = chance.choice(self.files.get(command.kind, [""]))
        folder = self.place / f"case-{number}"
        words = _fill(chance, command, name)
        self.copy(words, name, folder)
        if chance.random() < LIKELY_SETTINGS:
            settings, done = damage_settings(chance)
            return Case(number, verb, "settings", done, tuple(words), folder, settings)
        if not command.kind or chance.random() < LIKELY_WORDS:
            words, done = damage_words(chance, words, self.options[verb])
            return Case(number, verb, "words", done, tuple(words), folder)
        done = damage(chance, folder / name)
        form = Path(name).name if command.kind in ("predictions", "truth", "log") else command.kind
        return Case(number, verb, form, done, tuple(words), folder)

    def copy(self, words: Sequence[str], name: str, folder: Path) -> None:
        """Copy the valid files that a command names, and those that its files name."""
        named = re.split("[ =:,]", " ".join(words))
        folder.mkdir(parents=True)
        for one in {*named, name, *NAMED_WITHIN.get(words[0] if words else "", ())} - {""}:
            source, target = self.valid / one, folder / one
            if "\0" not in one and len(one) < 200 and source.exists() and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)


def _fill(chance: Random, command: Command, name: str) -> list[str]:
    """The words of a command with the name of the file in place of @; at times with its format."""
    form = Path(name).name.partition(".")[0] if name.startswith("formats/") else ""
    named = f"{form}:{name}" if form and command.verb != "convert" else name
    put = named if chance.random() < 0.4 else name
    words = [put if word == "@" else word.replace("=@", f"={name}") for word in command.words]
    if form and command.verb == "convert" and chance.random() < 0.4:
        words += ["--from", form]
    return words


def trials(
    generator: Generator, numbers: range, jobs: int, seconds: float = SECONDS, memory: str = ""
) -> Iterator[tuple[Case, Ended]]:
    """Make and run cases, several at a time; the folder of a case stays until the next is asked."""
    workers: SimpleQueue[Worker] = SimpleQueue()
    for _ in range(jobs):
        workers.put(Worker(seconds, memory))

    def run(case: Case) -> Ended:
        one = workers.get()
        try:
            return one.run(case.words, case.folder, case.settings)
        finally:
            workers.put(one)

    with ThreadPoolExecutor(jobs) as pool:
        waiting = []
        for number in numbers:
            case = generator.case(number)
            waiting.append((case, pool.submit(run, case)))
            while len(waiting) > 2 * jobs or (number == numbers[-1] and waiting):
                done, future = waiting.pop(0)
                yield done, future.result()
    for _ in range(jobs):
        workers.get().close()


def sweep(generator: Generator, numbers: range, jobs: int) -> tuple[Counts, list[Violation]]:
    """Run all cases; return counts of (verb, input, outcome), and the violations."""
    counts: Counts = Counter()
    found = []
    for case, ended in trials(generator, numbers, jobs, memory=LIMIT):
        broken = ended.violations(case.damage.certain, KEPT.get(case.verb, ""))
        outcome = "violations" if broken else ("refused" if ended.code == 2 else "legitimate")
        counts[case.verb, case.form, outcome] += 1
        if broken:
            found.append((case, ended, broken))
            keep(case, ended, broken, generator)
        shutil.rmtree(case.folder, ignore_errors=True)
    return counts, found


def keep(case: Case, ended: Ended, broken: list[str], generator: Generator) -> None:
    """Keep the folder of a violation with what was said, and its line for the corpus."""
    place = FOUND / f"{generator.seed}-{case.number}"
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(exist_ok=True)
    line = entry_of(case.words, case.damage.certain, case.folder, generator.valid, case.settings)
    if line is not None:
        with (FOUND / "corpus.jsonl").open("a", encoding="utf-8") as corpus:
            corpus.write(json.dumps({"why": broken[0], **line}) + "\n")
    subprocess.run(["cp", "-a", str(case.folder), str(place)], check=True)  # pipes and links too
    lines = [*broken, case.damage.name, case.line, "", ended.err]
    (place / "SAID.txt").write_text("\n".join(lines), encoding="utf-8", errors="backslashreplace")


def show(counts: Counts, found: list[Violation], seconds: float) -> None:
    """Print counts by verb and by input, then every violation."""
    for title, place in (("verb", 0), ("input", 1)):
        print(f"\n{title:24}" + "".join(f"{name:>12}" for name in ("inputs", *OUTCOMES)))
        for name in [*sorted({key[place] for key in counts}), "all"]:
            mine = [(key[2], n) for key, n in counts.items() if name in (key[place], "all")]
            sums = [sum(n for outcome, n in mine if outcome == one) for one in OUTCOMES]
            print(f"{name[:24]:24}" + "".join(f"{number:12}" for number in (sum(sums), *sums)))
    print(f"\n{len(found)} violations in {seconds:.0f} s")
    for case, ended, broken in found:
        print(f"\n#{case.number} {'; '.join(broken)}  [{case.form}: {case.damage.name}]")
        print(f"  {ended.clock:.1f} s, {ended.megabytes:.0f} MB, exit {ended.code}")
        print(f"  {case.line}"[:600])
        last = [line for line in ended.err.splitlines() if line.strip()][-4:]
        print(*(f"  | {ascii(line[:300])[1:-1]}" for line in last), sep="\n")


def main() -> int:
    """Generate, run and judge; 1 if there is a violation."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="malformed-") as place:
        generator = Generator(given.seed, Path(place))
        if given.keep is not None:
            case = generator.case(given.only or 0)
            shutil.copytree(case.folder, given.keep, symlinks=True)
            print(f"{case.damage.name}\ncd {given.keep} && {case.line}")
            return 0
        numbers = range(given.count) if given.only is None else range(given.only, given.only + 1)
        began = time.perf_counter()
        counts, found = sweep(generator, numbers, given.jobs)
        print(f"seed {given.seed}, limits {SECONDS:g} s and 1 GB")
        show(counts, found, time.perf_counter() - began)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
