"""`rectitude profiles`: list, show, diff; and your own profile files on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_files import Run

import rectitude as rt

OWN = 'versions = ["1"]\n\n[convention]\nideal = "k"\nties = "%s"\n'


def test_every_profile_is_listed_and_can_be_shown(run: Run) -> None:
    listed = run("profiles").out
    for name in rt.PROFILES:
        assert name in listed
        said = run("profiles", "show", name)
        assert said.code == 0
        assert said.out.startswith(f"{name}: ")


def test_a_profile_is_shown_with_sentences(run: Run) -> None:
    said = run("profiles", "show", "rectools").out
    assert "ideal: k (a hit at every rank up to the cutoff" in said
    assert "RecTools 0.19.0" in said
    ranx = run("profiles", "show", "ranx").out
    assert "hits: metric = hit, hit_as = count" in ranx
    assert "count: the number of hits" in ranx
    assert "burges: gain = exp2" in ranx
    assert "Known differences:" in ranx


def test_profiles_as_json_hold_every_switch(run: Run) -> None:
    (one,) = json.loads(run("profiles", "show", "rectools", "--json").out)["profiles"]
    assert one["convention"]["ideal"] == "k"
    assert "ideal" in one["differs"]
    every = json.loads(run("profiles", "--json").out)["profiles"]
    assert [one["profile"] for one in every] == list(rt.PROFILES)


def test_two_profiles_are_compared(run: Run) -> None:
    said = run("profiles", "diff", "rectools", "comirec")
    assert said.code == 0
    most, own = said.out.partition("\n\nndcg:\n")[::2]
    assert "seen: removed | kept" in most
    assert "  ideal: k | found\n      k: a hit at every rank" in own
    assert "Nothing else differs for" in said.out
    assert max(map(len, said.out.splitlines())) <= 110


def test_two_profiles_are_compared_for_one_metric(run: Run) -> None:
    said = run("profiles", "diff", "default", "comirec-paper", "--metric", "ndcg@10").out
    assert "discount_by: rank | place" in said
    assert "recall" not in said
    stored = json.loads(
        run("profiles", "diff", "default", "comirec-paper", "--metric", "ndcg@10", "--json").out
    )
    assert stored["profiles"] == ["default", "comirec-paper"]
    (one,) = stored["metrics"]
    assert one["switches"]["discount_by"] == ["rank", "place"]


def test_profiles_that_mean_the_same_say_so(run: Run) -> None:
    assert (
        "define all metrics that they share identically"
        in run("profiles", "diff", "ranx", "ranx").out
    )


@pytest.mark.parametrize(("words", "message"), [
    (("rectools",), "to see one profile: rectitude profiles show rectools"),
    (("shw", "rectools"), "did you mean 'show'"),
    (("show",), "profiles show was given no profile."),
    (("diff", "ranx"), "expected rectitude profiles diff NAME NAME."),
    (("show", "rectols"), "did you mean 'rectools'"),
    (("diff", "ranx", "recbole2"), "no profile 'recbole2'"),
    (("show", "ranx", "--metric", "map"), "--metric does not apply to profiles show"),
    (("diff", "ranx", "rectools", "--metric", "nope"), "no metric 'nope'"),
])  # fmt: skip
def test_bad_use_exits_2_and_says_why(run: Run, words: tuple[str, ...], message: str) -> None:
    said = run("profiles", *words)
    assert (said.code, said.out) == (2, "")
    assert message in said.err


def test_a_custom_profile_can_be_shown_compared_and_used(run: Run, shop: Path) -> None:
    (shop / "mine.toml").write_text(OWN % "given")
    assert "ideal: k" in run("profiles", "show", "mine.toml").out
    assert "ideal: k | reachable" in run("profiles", "diff", "mine.toml", "default").out
    files = ("--truth", "truth.csv", "--predictions", "good.csv", "--metrics", "ndcg@3")
    own = run("evaluate", *files, "--json", "--convention", "mine.toml")
    assert own.code == 0
    plain = run("evaluate", *files, "--json", "--convention", "ideal=k", "ties=given")
    stored = [json.loads(said.out)["results"]["ndcg@3"]["value"] for said in (own, plain)]
    assert stored[0] == stored[1]


def test_errors_in_a_custom_profile_are_reported(run: Run, shop: Path) -> None:
    (shop / "mine.toml").write_text(OWN % "givne")
    said = run("profiles", "show", "mine.toml")
    assert said.code == 2
    assert "error: UnknownName: mine.toml, line 5: switch 'ties' has no choice 'givne'." in said.err
    assert "did you mean 'given'?" in said.err
    files = ("--truth", "truth.csv", "--predictions", "good.csv")
    assert "mine.toml, line 5" in run("evaluate", *files, "--convention", "mine.toml").err
    assert "cannot be read" in run("evaluate", *files, "--convention", "gone.toml").err
