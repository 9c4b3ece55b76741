"""Count which values of a golden tree our profiles reproduce, by kind of input and by metric.

cd benchmarks && python -m golden.tally DIR [--profile NAME ...] [--examples N]
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from pathlib import Path

from rectitude.conformance.cases import Case, changes, load
from rectitude.conformance.run import Agreement, conformance
from rectitude.profiles import PROFILES

Key = tuple[str, str, str]
"""profile, kind of input, metric without its cutoff"""


def kind_of(case: Case) -> str:
    """Return the family and kind of a drawn input, without the seed and the number."""
    return "-".join(case.inputs.name.split("-")[:-2])


def count(folder: Path, profiles: list[str]) -> tuple[dict[Key, Counter[str]], list[Agreement]]:
    """Return the number of values that agree, differ or are not supported, and what differs."""
    counts: dict[Key, Counter[str]] = defaultdict(Counter)
    wrong: list[Agreement] = []
    for profile in profiles:
        cases = {case.path.stem: case for case in load(folder, [profile])}
        for case in cases.values():
            for name in dict.fromkeys([*case.expected, *case.per_user]):
                size = (name in case.expected) + len(case.per_user.get(name, {}))
                supported = profile in PROFILES and PROFILES[profile].has(name)
                supported = supported and changes(case) is not None
                key = (profile, kind_of(case), name.partition("@")[0])
                counts[key]["agree" if supported else "unsupported"] += size
        (tally,) = conformance(folder, [profile])
        for value in tally.wrong:
            key = (profile, kind_of(cases[value.case]), value.name.partition("@")[0])
            counts[key]["agree"] -= 1
            counts[key]["differ"] += 1
        wrong += tally.wrong
    return counts, wrong


def print_tables(counts: dict[Key, Counter[str]]) -> None:
    """Print one line per profile, then one per kind and metric that differs or is missing."""
    for profile in dict.fromkeys(key[0] for key in counts):
        total: Counter[str] = sum(
            (value for key, value in counts.items() if key[0] == profile), Counter()
        )
        states = ", ".join(
            f"{total[state]} {state}" for state in ("agree", "differ", "unsupported")
        )
        print(f"\n## {profile}: {states}\n")
        rows = [(key, value) for key, value in counts.items() if key[0] == profile]
        rows = [(key, value) for key, value in rows if value["differ"] or value["unsupported"]]
        if rows:
            print("| input | metric | agree | differ | unsupported |\n|---|---|---:|---:|---:|")
        for (_, kind, metric), value in sorted(rows):
            states = " | ".join(str(value[s]) for s in ("agree", "differ", "unsupported"))
            print(f"| {kind} | {metric} | {states} |")


def print_examples(wrong: list[Agreement], most: int) -> None:
    """Print the first values that differ, for each metric and input."""
    seen: Counter[tuple[str, str]] = Counter()
    for value in wrong:
        key = (value.case, value.name.partition("@")[0])
        seen[key] += 1
        if seen[key] <= most:
            user = f" of user {value.user}" if value.user else ""
            print(f"{value.case}: {value.name}{user}: {value.expected}, ours {value.got}")


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="tables of agreement with frameworks")
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--profile", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--examples", type=int, default=0, metavar="N")
    arguments = parser.parse_args()
    names = arguments.profile or sorted(p.name for p in (arguments.folder / "cases").iterdir())
    counts, wrong = count(arguments.folder, names)
    print_tables(counts)
    print_examples(wrong, arguments.examples)
    return 0


if __name__ == "__main__":
    sys.exit(main())
