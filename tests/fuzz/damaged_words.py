"""Damage to the words of a command: names, numbers and options that do not exist."""

from __future__ import annotations

from random import Random

from damage import Damage

NUMBERS = ("", "x", "nan", "-inf", "1e999", "0x10", "--", "1.5.2", "\x1b[31m", "one", "1,2", "٣x")
"""What no option that takes a number accepts."""
WRONG: dict[str, tuple[str, ...]] = {
    "--metrics": ("ndcg@", "ndcg@-1", "ndcg@0", "ndcg[", "ndcg@{1,2", "nope@3", "ndcg@@3", "@3",
                  "ndcg@" + "9" * 400, "ndcg@1.5", "\x1b[31m@3", "rbp[x=1]@3", "ndcg@3]",
                  "ndcg@{}", "ndcg@{" + "1," * 3000, "a" * 5000, "[]"),
    "--metric": ("ndcg@", "nope@3", "ndcg@-1", "ndcg[", "\x07", "", "ndcg@{2,3}", "ndcg@999999999"),
    "--convention": ("nope", "ties=", "ties=x", "=x", "a=b=c", "nope.toml", "ties=pessimistic=x",
                     "\x1b[31m", "relevant_from=nan", "gain=" + "x" * 5000, "none.json", "=",
                     "ranx,ranx=x"),
    "--first": ("nope", "ties=x", "none.json", "\x1b[31m"),
    "--profiles": ("nope", "\x1b[31m", "none.toml"),
    "--value": (*NUMBERS, "50 %%"),
    "--resamples": (*NUMBERS, "-1", "0", "1.5"),
    "--alpha": (*NUMBERS, "-1", "0", "1.5"),
    "--at": (*NUMBERS, "0", "-3"),
    "--most": (*NUMBERS, "-1"),
    "--seed": (*NUMBERS, "1.5"),
    "--decimals": (*NUMBERS, "-1"),
    "--margin": (*NUMBERS, "-1"),
    "--format": ("nope", "", "\x1b[31m"),
    "--test": ("nope", "", "\x1b[31m"),
    "--correct": ("nope", ""),
    "--interval": ("nope", ""),
    "--slices": ("nope", "price:", "activity:x", "+".join(["activity:2"] * 50), "activity:-1", "+",
                 "activity:" + "9" * 400, "\x1b[31m", ":3", "gender:1,,2"),
    "--slice": ("nope", "activity:x", "+", "\x1b[31m"),
    "--columns": ("user", "user=", "=x", "user=nope", "nope=user", "user=\x1b[31m", "user=a=b"),
    "--how": ("nope", "\x1b[31m"),
    "--set": ("count", "count=x", "count=-1", "nope=1", "ratio=2", "=", "n=1e400"),
    "--unknown": ("users", "users=x", "x=drop"),
    "--protocol": ("nope",),
    "--memory": ("nope", "", "-1GB", "1", "1e400GB", "GB"),
    **dict.fromkeys(
        ("--train", "--seen", "--candidates", "--ranking", "--items", "--users", "--weights",
         "--targets", "--train-targets", "--fold-in", "--given", "--validation", "--folds",
         "--score-users", "--zscores", "--other"),
        ("none.csv", "", "nowhere/at/all.parquet"),
    ),
    "--list-key": ("nope", "", "\x1b[31m"),
    "--user": ("nope", "99999", "\x1b[31m"),
    "--from": ("nope",),
    "--to": ("nope",),
    "--as": ("nope",),
    "--only": ("nope", "\x1b[31m"),
    "--log": ("nope",),
    "--baseline": ("nope", "\x1b[31m"),
    "--allow": ("nope",),
    "--show": ("nope",),
    "--table": ("nope",),
    "--output": ("nowhere/at/all/x.zip", "truth.csv/x.json", "a" * 300 + ".json", "."),
    "--padding": ("nope",),
    "--level": NUMBERS,
    "--cutoffs": ("", "x", "0", "-1", "1.5", "9" * 400, "1,,2"),
}  # fmt: skip
"""Values that are certainly wrong, by option."""
SETTINGS: dict[str, tuple[str, ...]] = {
    "RECTITUDE_MEMORY": ("nope", "-1GB", "1e400GB", "GB", "0x10", "\x1b[31m", "9" * 5000, "1KB"),
    "RECTITUDE_DEBUG": ("maybe", "\x1b[31m"),
    "RECTITUDE_PLUGINS": ("OFF", "false", "0", "\x1b[31m"),
    "RECTITUDE_KERNELS": ("auto", "NUMPY", " numpy", "\x1b[31m"),
    "RECTITUDE_THREADS": ("0", "-1", "x", "1.5", "9" * 5000, "\u0663"),
    "RECTITUDE_SCRATCH": ("nowhere", "truth.csv", "/proc", "~nobody-here", "x" * 5000, "\x1b[31m"),
    "RECTITUDE_ENERGY": ("maybe", "\x1b[31m"),
    "POLARS_MAX_THREADS": ("0", "x"),
    "COLUMNS": ("0", "x", "-5"),
}
"""Values of settings in the environment that are wrong."""
CHECKED = ("RECTITUDE_MEMORY", "RECTITUDE_DEBUG", "RECTITUDE_PLUGINS")
"""Settings that every command checks; the others are checked by what needs them."""
LISTING = frozenset({"--formats", "--schema", "--guide", "--init"})
"""Options with which a command looks at nothing else."""


def damage_words(chance: Random, words: list[str], options: list[str]) -> tuple[list[str], Damage]:
    """Damage a command that was valid; `options` are those that the command has."""
    known = [option for option in options if option in WRONG]
    what = chance.choice(
        ("wrong", "wrong", "wrong", "unknown", "lost", "cut", "shuffled", "repeated")
    )
    if what == "wrong" and known:
        option = chance.choice(known)
        certain = not LISTING & {*words} and (words[0], option) != ("split", "--output")
        unnamed = option == "--list-key" and any(
            name in word for word in words for name in ("letor/numbers.txt", "movielens")
        )  # lists in files without a header may be called whatever one likes
        value = chance.choice(WRONG[option])
        several = words[:2] == ["profiles", "diff"] and value == "ndcg@{2,3}"  # as it may be there
        certain = certain and not unnamed and not several
        return [*words, option, value], Damage(f"words: {option}", certain)
    if what == "unknown":
        name = chance.choice(("--nope", "-Z", "--\x1b[31m", "--metrix", "--truht", "---", "--=x"))
        return [*words, name], Damage("words: unknown option", True)
    if what == "lost":
        return words[:-1], Damage("words: lost", False)
    if what == "cut":
        verb = words[0] + chance.choice(("x", "\x1b[31m", "\u202e"))
        return [verb, *words[1:]], Damage("words: unknown command", True)
    if what == "repeated":
        place = chance.randrange(1, len(words) + 1)
        return words[:place] + words[1:], Damage("words: repeated", False)
    rest = words[1:]
    chance.shuffle(rest)
    return [words[0], *rest], Damage("words: shuffled", False)


def damage_settings(chance: Random) -> tuple[dict[str, str], Damage]:
    """Set something wrong in the environment."""
    name = chance.choice([*SETTINGS])
    value = chance.choice(SETTINGS[name])
    return {name: value}, Damage(f"settings: {name}", name in CHECKED and value != "1KB")
