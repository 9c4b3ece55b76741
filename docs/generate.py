"""The reference pages, made from the metrics, the switches, the profiles and the messages in the
source; the contents of the home page; and the schema of an experiment's file.

python docs/generate.py            writes docs/metrics.md, docs/conventions.md, docs/profiles.md,
                                   docs/messages.md, docs/api.md, docs/cli.md, docs/README.md
                                   from mkdocs.yml, tables in docs/coming-from, and
                                   docs/experiment.schema.json
python docs/generate.py --check    exits 1 if a page is not what would be written
"""

from __future__ import annotations

import math
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

os.environ["RECTITUDE_PLUGINS"] = "off"  # only what ships

sys.path.insert(0, str(Path(__file__).resolve().parent))

import api
import commands
from coming_from import pages as coming_from_pages
from contents import home_page
from messages import Message, error_messages, ledger_messages
from switch_examples import EXAMPLES, MORE, example_in_words, outcomes_of

from rectitude.convention import SWITCHES, Stage, Switch
from rectitude.experiment.reading import schema_text
from rectitude.metrics import METRICS, Metric
from rectitude.metrics.aliases import families, other_names
from rectitude.metrics.registry import describe_inputs, format_parameter, group_by_family
from rectitude.profiles import PROFILES, Profile

HERE = Path(__file__).resolve().parent
MARK = "<!-- Made by docs/generate.py; edit the source it names, not this page. -->"
STAGES = {
    "truth": "What counts as relevant",
    "order": "How a list is ordered",
    "judge": "How lists are matched with the truth",
    "metrics": "Divisors, gains and weights in metrics",
    "aggregate": "Which lists count, and how they become one number",
    "present": "How values are shown",
}


def metrics_page() -> str:
    """Every metric: what it is, how to read it, when to use it, and the switches it obeys."""
    names = list(METRICS)
    index: list[str] = []
    for family, members in group_by_family(METRICS.values()).items():
        index += [f"**{family.capitalize()}.** {families()[family][0]}", ""]
        index += ["| name | metric | range | needs | source |", "|---|---|---|---|---|"]
        for metric in members:
            cells = [f"[`{metric.name}`](#{metric.name})", metric.title, bounds(metric)]
            cells += [describe_inputs(metric), source(metric)]
            index.append(f"| {' | '.join(cells)} |")
        index.append("")
    lead = (
        "Ask for a metric by name and cutoff: `ndcg@10`, `recall@{5,10,20}`, or without a cutoff "
        "for the whole list: `mrr`. Names of other frameworks work, too, in any case: `HR@10`, "
        "`ndcg_cut_10`, `Success@1`; the ledger says which metric each is. Switches and "
        "parameters can be set in brackets: "
        "`ndcg[gain=exp2]@10`, `ndcg[gains={1: 3, 2: 7}]@10`, `rbp[persistence=0.5]`. "
        "`stat` replaces the mean over lists: `ndcg[stat=median]@10`, or `min`, `max`, `std`, "
        "`p90`. In the formulas, `<gain>` is the "
        "current choice of a [switch](conventions.md), or a parameter of the metric; "
        "`Evaluation.definition` prints the formula with these values filled in. A metric may "
        "need: lists, in any form; additional tables (`items=`, `users=`, `train=`), with the "
        "columns that the metric names ([attributes](attributes.md)); predicted scores, in a "
        "column of the lists or dense; scores of all candidates (`rt.Scores`, `rt.Embeddings`, "
        "`rt.Logits`); classes or logits, with one target per row (`rt.Logits`). "
        "`rectitude metrics --guide` says how to read and choose metrics of one target."
    )
    return page("Metrics", "src/rectitude/metrics", lead, index, map(metric_entry, names))


def metric_entry(name: str) -> str:
    """One metric."""
    metric = METRICS[name]
    facts = {
        "Range": f"{bounds(metric)}; "
        + ("higher" if metric.best == "high" else "lower")
        + " is better",
        "Also called": ", ".join(f"`{name}`" for name in other_names(metric.name)),
        "How to read it": metric.reading,
        "Use": re.sub(r"^Use it ", "", metric.use),
        "From": ", ".join(f"`{other}`" for other in metric.of),
        "Switches": ", ".join(link(switch) for switch in metric.switches),
        "Parameters": ", ".join(
            f"`{k}` = {format_parameter(v)}" for k, v in metric.parameters.items()
        ),
        "Needs": describe_inputs(metric) if describe_inputs(metric) != "lists" else "",
        "Cutoff": cutoff(metric),
        "Fixed": ", ".join(f"{link(key)} = {show(value)}" for key, value in metric.fixed.items()),
        "Aggregation": "from counts over all lists; no value per list" * bool(metric.counts),
        "Source": source(metric),
    }
    lines = [f"## {name}", "", f"**{metric.title}.** {metric.about}", ""]
    if metric.formula:
        lines += [
            "```text",
            textwrap.fill(with_names(metric.formula), 100, subsequent_indent="    "),
            "```",
            "",
        ]
    return "\n".join([*lines, *(f"- {key}: {value}" for key, value in facts.items() if value)])


def with_names(formula: str) -> str:
    """A formula with the names of its switches and numbers: `k`, `<gain>`."""
    return re.sub(r"{(\w+)}", lambda found: "k" if found[1] == "k" else f"<{found[1]}>", formula)


def bounds(metric: Metric) -> str:
    """The range in words."""
    low, high = metric.bounds
    if math.isinf(low):
        return "any number" if math.isinf(high) else f"up to {high:g}"
    return f"from {low:g}" if math.isinf(high) else f"{low:g} to {high:g}"


def cutoff(metric: Metric) -> str:
    """Whether there is a choice about the cutoff, where there is none."""
    if metric.cutoff == "none":
        return "none"
    return "needed" if metric.cutoff == "needed" else ""


def source(metric: Metric) -> str:
    """The citation with its link."""
    return f"[{metric.cite}](references.md)" if metric.cite else ""


def conventions_page() -> str:
    """Every switch by stage, its choices, the default, and the profiles that set it."""
    index = ["| stage | switches |", "|---|---|"]
    parts: list[str] = []
    for stage in get_args(Stage):
        switches = [switch for switch in SWITCHES.values() if switch.stage == stage]
        if not switches:
            continue
        title = STAGES.get(stage, stage)
        index.append(f"| {stage} | {', '.join(f'[`{s.name}`](#{s.name})' for s in switches)} |")
        parts += [f"## {title}", *(switch_entry(switch) for switch in switches)]
    lead = (
        "A convention is one frozen value, `rt.Convention`; each field is a switch on which "
        'frameworks disagree. Set some with `convention={"ties": "optimistic"}`, start from a '
        '[profile](profiles.md) with `convention="rectools"`, or do both: '
        '`convention={"profile": "rectools", "ideal": "reachable"}`. Every switch comes with the '
        "smallest example in which it matters; the numbers in its table are what each choice gives."
    )
    return page("Conventions", "src/rectitude/convention.py", lead, index, parts)


def switch_entry(switch: Switch) -> str:
    """One switch."""
    setters, outcomes = who_sets(switch.name), outcomes_of(EXAMPLES[switch.name], switch.name)
    numbers = sorted({*outcomes, *setters} - {None, *switch.words}) if not switch.choices else []
    means = switch.choices or dict.fromkeys([None, *numbers, *switch.words], "")
    heading = ["choice", "means", "example", "set by"]
    rows = []
    for choice, sentence in means.items():
        label = f"**{show(choice)}** (default)" if choice == switch.default else show(choice)
        users = ", ".join(setters.get(choice, []))
        rows.append([label, cell(sentence), outcomes.get(choice, ""), users])
    if not switch.choices:
        heading, rows = ["number", *heading[2:]], [[row[0], *row[2:]] for row in rows]
    lines = [f"### {switch.name}", "", switch.about, "", *table(heading, rows)]
    lines += ["", f"Or {switch.table}."] if switch.table else []
    lines += ["", f"Example: {example_in_words(EXAMPLES[switch.name])}."]
    for other in MORE.get(switch.name, ()):
        found = ", ".join(
            f"`{one}` {value}" for one, value in outcomes_of(other, switch.name).items()
        )
        lines += ["", f"Another: {example_in_words(other)}: {found}."]
    return "\n".join(lines)


def table(heading: list[str], rows: list[list[str]]) -> list[str]:
    """A Markdown table."""
    return [f"| {' | '.join(row)} |" for row in (heading, ["---"] * len(heading), *rows)]


def who_sets(switch: str) -> dict[Any, list[str]]:
    """Value of a switch -> the profiles that set it so, also for one metric or by a variant."""
    found: dict[Any, list[str]] = {}
    for name, profile in shipped():
        value = getattr(profile.convention, switch)
        label = f"[{name}](profiles.md#{anchor(name)})"
        if value != SWITCHES[switch].default:
            found.setdefault(value, []).append(label)
        places: dict[Any, list[str]] = {}
        for place, settings in special(profile):
            if switch in settings:
                places.setdefault(settings[switch], []).append(f"`{place}`")
        for setting, where in places.items():
            found.setdefault(setting, []).append(f"{label} ({', '.join(where)})")
    return found


def special(profile: Profile) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """What a profile sets for one metric or under one variant."""
    yield from profile.metrics.items()
    for variant, meaning in profile.variants.items():
        if isinstance(meaning, Mapping):
            yield f"[{variant}]", meaning


def profiles_page() -> str:
    """Every profile: what it sets, what its names mean, and where it is known to differ."""
    index = ["| profile | framework | releases |", "|---|---|---|"]
    for name, profile in shipped():
        releases = ", ".join(profile.versions) + (" (not proven)" if profile.unproven else "")
        index.append(f"| [`{name}`](#{anchor(name)}) | {profile.framework} | {releases} |")
    lead = (
        "A profile reproduces the numbers of one framework, in the listed releases, from the same "
        "lists. It is a TOML file that sets [switches](conventions.md); it ships only with values "
        "made by that framework's own code and matched by `rectitude conformance`, unless it is "
        "marked as not proven. Without a profile, every switch has its default."
    )
    entries = [profile_entry(name, profile) for name, profile in shipped()]
    return page("Profiles", "src/rectitude/profiles", lead, index, entries)


def shipped() -> list[tuple[str, Profile]]:
    """The profiles other than the default, by name."""
    return [(name, PROFILES[name]) for name in PROFILES if name != "default"]


def profile_entry(name: str, profile: Profile) -> str:
    """One profile."""
    releases = ", ".join(profile.versions)
    framework = profile.framework.replace("definition", "Definition")
    separator = " " if releases[:1].isdigit() else ": "
    lines = [f"## {name}", "", f"*{framework}{separator}{releases}.* {profile.about}"]
    if profile.unproven:
        lines += ["", f"**Not proven by values of the framework**: {profile.unproven}."]
    changed = PROFILES["default"].convention.differences(profile.convention)
    if changed:
        lines += ["", "| switch | here | default |", "|---|---|---|"]
        lines += [f"| {link(s)} | {show(new)} | {show(old)} |" for s, (old, new) in changed.items()]
    else:
        lines += ["", "Every switch has its default."]
    for metric, own in profile.metrics.items():
        settings = ", ".join(f"`{key}` = {show(value)}" for key, value in own.items())
        lines += ["", f"- `{metric}`: {settings}"]
    for theirs, ours in profile.names.items():
        lines += ["", f"- name `{theirs}`: `{ours}`"]
    for variant, meaning in profile.variants.items():
        if isinstance(meaning, Mapping):
            sets = ", ".join(f"`{key}` = {show(value)}" for key, value in meaning.items())
            lines += ["", f"- variant `[{variant}]`: {sets}"]
        else:
            lines += ["", f"- variant `[{variant}=...]`: sets `{meaning}`"]
    if profile.padding is not None:
        lines += ["", f"- never recommended from dense scores: item `{profile.padding}`"]
    for metric, words in profile.absent.items():
        lines += ["", f"- `{metric}` is refused: in that framework it is {words}"]
    for metric, cause in profile.known_differences.items():
        lines += ["", f"- known difference, `{metric}`: {cause}"]
    return "\n".join(lines).replace("\n\n- ", "\n- ").replace("|\n- ", "|\n\n- ")


def messages_page() -> str:
    """Every error and every line of the ledger, as templates."""
    lead = (
        "Every message that rectitude can show: errors by class, then the lines of the ledger. "
        "Braces hold what is filled in; brackets hold alternatives. The classes are explained in "
        "[errors.py](../src/rectitude/errors.py)."
    )
    every = error_messages()
    kinds = sorted({message.kind for message in every})
    index = [f"- [{kind}](#{anchor(kind)})" for kind in kinds] + ["- [Ledger](#ledger)"]
    parts = []
    for kind in kinds:
        entries = [in_words(message) for message in every if message.kind == kind]
        parts.append("\n\n".join([f"## {kind}", *entries]))
    lines = [f"`{message.kind}`: {message.lines[0]}" for message in ledger_messages()]
    ledger = "\n".join(["## Ledger", "", *(f"- {line}" for line in dict.fromkeys(lines))])
    return page("Messages", "the errors raised in src/rectitude", lead, index, [*parts, ledger])


def api_page() -> str:
    """Every public name of the Python interface."""
    return page(
        "Python API", "the docstrings in src/rectitude", api.LEAD, api.index(), api.entries()
    )


def commands_page() -> str:
    """Every command."""
    index = [f"- [{name}](#{name})" for name in commands.commands()]
    return page("Command line", "src/rectitude/cli", commands.LEAD, index, commands.entries())


def in_words(message: Message) -> str:
    """A message as it is printed, and where it comes from."""
    text = "\n  ".join(message.lines)
    return f"`{message.where}`\n\n```text\n{text}\n```"


def show(value: object) -> str:
    """A value of a switch."""
    return f"`{value:g}`" if isinstance(value, float) else f"`{'none' if value is None else value}`"


def link(switch: str) -> str:
    """A switch with a link to its entry."""
    return f"[`{switch}`](conventions.md#{switch})"


def anchor(name: str) -> str:
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w-]", "", name.lower())


def cell(text: str) -> str:
    """Text inside a Markdown table."""
    return text.replace("|", "\\|")


def page(title: str, source: str, lead: str, index: list[str], parts: Iterable[str]) -> str:
    """A page: heading, index, entries."""
    head = f"{MARK}\n<!-- Source: {source} -->\n\n# {title}\n\n{lead}"
    return "\n\n".join([head, "\n".join(index), *parts]) + "\n"


PAGES: Mapping[str, Callable[[], str]] = {
    "README.md": home_page,
    "metrics.md": metrics_page,
    "conventions.md": conventions_page,
    "profiles.md": profiles_page,
    "messages.md": messages_page,
    "api.md": api_page,
    "cli.md": commands_page,
    "experiment.schema.json": schema_text,
    **coming_from_pages(),
}


def main(arguments: list[str]) -> int:
    """Write the pages, or say which are out of date."""
    stale = []
    for name, build in PAGES.items():
        path, text = HERE / name, build()
        if path.is_file() and path.read_text("utf-8") == text:
            continue
        stale.append(name)
        if "--check" not in arguments:
            path.write_text(text, "utf-8")
    if stale and "--check" in arguments:
        sys.stderr.write(f"out of date: {', '.join(stale)}. Run: make docs\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
