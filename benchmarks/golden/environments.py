"""The environments in which golden values are made, and the frameworks that live in each.

    cd benchmarks && python -m golden.environments install        # those missing or out of date
    cd benchmarks && python -m golden.environments install NAME   # this one, from nothing

They lie beside those of the speed benchmarks, in `benchmarks/_envs`, and some are the same.
Frameworks share an environment where their requirements allow it, since each torch is large.

Frameworks that are on no package index are read from checkouts of their repositories, which
`install` fetches into `benchmarks/_sources` or the folder that GOLDEN_SOURCES names. Without access
to GitHub, tell Git where the clones are: `git config --global url.DIR.insteadOf ADDRESS`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from peers import PEERS, Edit, Peer, install

TORCH = ("torch==2.13.0",)  # a CPU build, before anything that would pull one with CUDA
NUMERIC = ("numpy==2.4.6", "scipy==1.17.1", "pandas==2.3.3")

ENVIRONMENTS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        PEERS["rectools"],
        PEERS["replay"],
        Peer(
            "recommenders",
            "recommenders 1.2.1",
            (
                # What `recommenders.evaluation.python_evaluation` imports; NumPy before 2 has the
                # `np.NaN` that it writes.
                ("numpy==1.26.4", "pandas==2.3.3", "scipy==1.13.1", "scikit-learn==1.5.2"),
                ("--no-deps", "recommenders==1.2.1"),
            ),
        ),
        Peer("lenskit", "LensKit 2025.8.1", (TORCH, ("lenskit==2025.8.1",))),
        Peer(
            "lenskit-2026",
            "LensKit 2026.4.0 (needs Python 3.12 or later)",
            (TORCH, ("lenskit==2026.4.0",)),
            interpreter="python3.13",
        ),
        Peer("implicit", "implicit 0.7.3", ((*NUMERIC, "implicit==0.7.3"),)),
        Peer("cornac", "Cornac 3.0.1", ((*NUMERIC, "cornac==3.0.1"),)),
        Peer(
            "tensors",
            "torchmetrics 1.9.0, sentence-transformers 6.2.0, BEIR 2.2.0, allRank 1.4.3, keras-rs",
            (
                TORCH,
                (*NUMERIC, "scikit-learn==1.9.1", "torchmetrics==1.9.0"),
                ("sentence-transformers==6.2.0", "pytrec_eval-terrier==0.5.11"),
                ("keras==3.13.0", "keras-rs==0.4.0"),
                # Only their evaluation modules are used, which import none of the rest.
                ("--no-deps", "beir==2.2.0", "allrank==1.4.3"),
            ),
        ),
        Peer(
            "tensorflow",
            "TF-Ranking 0.5.5 on TensorFlow 2.15.1",
            (
                ("numpy==1.26.4", "tensorflow-cpu==2.15.1"),
                # It also asks for the whole of `tensorflow` and for a server that serves models.
                ("--no-deps", "tensorflow-ranking==0.5.5"),
            ),
        ),
        Peer(
            "boosting",
            "LightGBM 4.7.0, XGBoost 3.2.0, CatBoost 1.2.10, scikit-learn 1.9.1",
            (
                (*NUMERIC, "scikit-learn==1.9.1", "six", "lightgbm==4.7.0"),
                # `xgboost-cpu` is the same release without the CUDA libraries; CatBoost's other
                # requirements are for plots.
                ("--no-deps", "xgboost-cpu==3.2.0", "catboost==1.2.10"),
            ),
        ),
        Peer(
            "spark", "Spark 4.3.0 (needs Java 17 or later)", (("numpy==2.4.6", "pyspark==4.3.0"),)
        ),
        Peer("surprise", "Surprise 1.1.5", (("numpy==2.4.6", "scikit-surprise==1.1.5"),)),
        Peer(
            "retrieval",
            "ir_measures 0.4.3, pytrec_eval 0.5.11",
            (("numpy==2.4.6", "pytrec_eval-terrier==0.5.11", "ir-measures==0.4.3"),),
        ),
        Peer(
            "users",
            "ir_measures 0.4.3 with cwl-eval 1.0.12 and pyndeval 0.0.8",
            (
                ("numpy==2.4.6", "pytrec_eval-terrier==0.5.11", "ir-measures==0.4.3"),
                ("cwl-eval==1.0.12", "pyndeval==0.0.8"),
            ),
        ),
        PEERS["ranx"],
        PEERS["recbole"],
        PEERS["recpack"],
        Peer(
            "warprec",
            "what WarpRec 1.4.6 needs (SOURCES)",
            (
                TORCH,
                (*NUMERIC, "scikit-learn==1.9.1", "torchmetrics==1.9.0", "pydantic", "narwhals"),
                ("polars", "pyarrow", "loguru", "tabulate", "joblib", "coolname", "pyyaml"),
                ("ray", "lightning"),
            ),
        ),
        Peer(
            "sources",
            "what DaisyRec, Elliot and Streamsight need (SOURCES)",
            (
                TORCH,
                # NumPy before 2 has the `np.asfarray` that DaisyRec calls.
                ("numpy==1.26.4", "pandas==2.3.3", "scipy==1.13.1", "scikit-learn==1.5.2"),
                ("pyyaml", "tqdm", "deprecation", "pyfiglet", "colorlog", "colorama", "httpx"),
                ("pyarrow==23.0.1", "pillow", "simplejson", "typing-extensions", "progressbar"),
                ("--no-deps", "recpack==0.3.6"),
            ),
        ),
    )
}


@dataclass(frozen=True)
class Source:
    """A framework that is read from a checkout of its repository at one commit."""

    name: str
    address: str
    commit: str
    part: str
    """the folder that is checked out"""
    root: str = "."
    """the folder that Python imports from"""
    edits: tuple[Edit, ...] = ()
    """what Python 3.11 cannot parse, replaced"""

    @property
    def folder(self) -> Path:
        """The checkout, made or not."""
        beside = Path(__file__).resolve().parent.parent / "_sources"
        return Path(os.environ.get("GOLDEN_SOURCES", beside)) / self.name

    @property
    def path(self) -> str:
        """What is added to the import path."""
        return str(self.folder / self.root)


SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        Source(
            "warprec",
            "https://github.com/sisinflab/warprec",
            "e00f8cc7",
            "warprec",
            edits=(Edit("warprec/utils/config/common.py", "{'\\t'}", "tab"),),
        ),
        Source("elliot", "https://github.com/sisinflab/elliot", "fc27efed", "elliot"),
        Source("daisyrec", "https://github.com/recsys-benchmark/DaisyRec-v2.0", "88b0a32", "daisy"),
        Source("daisyrec_2_3", "https://github.com/AmazingDD/daisyRec", "v2.3.0", "daisy"),
        Source(
            "streamsight", "https://github.com/HiIAmTzeKean/Streamsight", "244e26b", "src", "src"
        ),
        Source(
            "streamsight_splits",
            "https://github.com/HiIAmTzeKean/Streamsight",
            "v1.0.0",
            "streamsight",
        ),
    )
}
"""The checkouts, by the name of their adapter."""
SOURCES_NEED = {"warprec", "sources"}
"""The environments whose adapters read checkouts."""


def check_out(source: Source) -> None:
    """Fetch a repository, check out the part that is imported, and apply the edits."""
    if source.folder.exists():
        return
    clone = ["git", "clone", "--quiet", "--no-checkout", source.address, str(source.folder)]
    subprocess.run(clone, check=True)
    git = ["git", "-C", str(source.folder)]
    subprocess.run([*git, "checkout", "--quiet", source.commit, "--", source.part], check=True)
    for edit in source.edits:
        file = source.folder / edit.file
        text = file.read_text("utf-8")
        if text.count(edit.old) != 1:
            raise ValueError(f"{edit.old!r} is not in {file} exactly once.")
        file.write_text(text.replace(edit.old, edit.new), "utf-8")
    print(f"{source.name}: checked out", flush=True)


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="environments in which golden values are made")
    parser.add_argument("action", choices=["install", "list"])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(ENVIRONMENTS)}")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(ENVIRONMENTS))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(ENVIRONMENTS)}")
    for name in arguments.names or ENVIRONMENTS:
        peer = ENVIRONMENTS[name]
        if arguments.action == "list":
            print(f"{peer.label:40s} {'installed' if peer.installed else 'missing'}")
        elif arguments.names or not peer.installed:
            install(peer)
    if arguments.action == "install" and {*(arguments.names or ENVIRONMENTS)} & SOURCES_NEED:
        for source in SOURCES.values():
            check_out(source)
    return 0


if __name__ == "__main__":
    sys.exit(main())
