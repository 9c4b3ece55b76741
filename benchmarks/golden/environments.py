"""The environments in which golden values are made, and the frameworks that live in each.

    cd benchmarks && python -m golden.environments install        # those missing or out of date
    cd benchmarks && python -m golden.environments install NAME   # this one, from nothing

They lie beside those of the speed benchmarks, in `benchmarks/_envs`, and some are the same.
Frameworks share an environment where their requirements allow it, since each torch is large.
"""

from __future__ import annotations

import argparse
import sys

from peers import PEERS, Peer, install

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
        PEERS["ranx"],
        PEERS["recbole"],
        PEERS["recpack"],
    )
}


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
    return 0


if __name__ == "__main__":
    sys.exit(main())
