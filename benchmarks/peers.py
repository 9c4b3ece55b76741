"""The peers' virtual environments: which versions, where, and how to make them.

    python benchmarks/peers.py install              # those missing or made from other pins
    python benchmarks/peers.py install NAME ...     # these, from nothing
    python benchmarks/peers.py list

The peers' requirements contradict one another, so each lives in `benchmarks/_envs/<name>`. What an
adapter touches is pinned, for Python 3.11; the rest is whatever pip resolves under those pins.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

ENVIRONMENTS = Path(__file__).resolve().parent / "_envs"
FRAMES = ("numpy==2.4.6", "pandas==3.1.1", "pyarrow==26.0.1")


@dataclass(frozen=True)
class Edit:
    """One piece of an installed file replaced by another, where the package needs it to run."""

    file: str
    old: str
    new: str

    def __str__(self) -> str:
        """As it stands in the recipe."""
        return f"in {self.file}: {self.old} -> {self.new}"


@dataclass(frozen=True)
class Peer:
    """One library to measure against: the steps pip installs it in, and edits made afterwards."""

    name: str
    label: str
    steps: tuple[tuple[str, ...], ...]
    edits: tuple[Edit, ...] = ()
    interpreter: str = ""
    """the command of another Python, if it does not run on this one"""

    @property
    def python(self) -> Path:
        """Its interpreter, made or not."""
        folder = "Scripts" if os.name == "nt" else "bin"
        return ENVIRONMENTS / self.name / folder / "python"

    @property
    def finished(self) -> Path:
        """A file that exists once every step has succeeded."""
        return ENVIRONMENTS / self.name / "installed.txt"

    @property
    def installed(self) -> bool:
        """Whether the environment holds exactly these steps (a changed pin makes it stale)."""
        return self.finished.is_file() and self.finished.read_text() == self.recipe

    @property
    def recipe(self) -> str:
        """The steps and edits as text, kept in the environment to notice a changed pin."""
        lines = [" ".join(step) for step in self.steps] + [str(edit) for edit in self.edits]
        return "\n".join(lines) + "\n"

    @property
    def command(self) -> str:
        """What a user types to get this environment."""
        return f"python benchmarks/peers.py install {self.name}"


PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        Peer(
            "recbole",
            "RecBole 1.2.1",
            (
                # A CPU build of torch first, so that no later step pulls one with CUDA.
                ("torch==2.13.0",),
                # What `recbole.evaluator` imports; its own list also pins an old ray, not needed
                # here.
                (*FRAMES, "scipy", "scikit-learn", "tensorboard", "tqdm", "psutil", "pyyaml"),
                ("colorlog==4.7.2", "colorama==0.4.4", "texttable"),
                ("--no-deps", "recbole==1.2.1"),
            ),
        ),
        Peer(
            "pytrec_eval",
            "pytrec_eval 0.5.11",
            ((*FRAMES, "pytrec_eval-terrier==0.5.11"),),
        ),
        Peer(
            "rectools",
            "RecTools 0.19.0",
            (("numpy==1.26.4", "pandas==2.3.3", "pyarrow==23.0.1", "rectools==0.19.0"),),
        ),
        Peer(
            "replay",
            "RePlay 0.22.0",
            (
                ("torch==2.13.0",),
                ("numpy==2.4.6", "polars==1.35.2", "replay-rec==0.22.0"),
                # Without it, RePlay takes torch to be missing, too.
                ("lightning==2.6.6",),
            ),
        ),
        Peer(
            "recpack",
            "RecPack 0.3.6",
            (
                ("numpy==1.26.4", "pandas==2.3.3", "scipy==1.13.1", "pyarrow==23.0.1"),
                ("scikit-learn==1.5.2", "tqdm", "pyyaml"),
                # What its filters and splitters import; its own list also asks for hyperopt and
                # torch.
                ("--no-deps", "recpack==0.3.6"),
            ),
        ),
        Peer(
            "ranx",
            "ranx 0.3.21",
            ((*FRAMES, "numba==0.68.1", "ranx==0.3.21"),),
        ),
        Peer(
            "torch",
            "torch 2.13.0",
            (("torch==2.13.0",), ("numpy==2.4.6", "scikit-learn==1.9.1")),
        ),
        Peer(
            "spark-evaluators",
            "MLlib 4.3.0, recommenders 1.2.1 and RePlay 0.22.0 on Spark",
            (
                ("numpy==2.4.6", "pandas==2.3.3", "pyarrow==23.0.1", "polars==1.35.2"),
                ("scipy==1.17.1", "scikit-learn==1.9.1", "pyspark==4.3.0", "psutil", "tqdm"),
                # Their evaluators for Spark import nothing else.
                ("--no-deps", "recommenders==1.2.1", "replay-rec==0.22.0"),
            ),
        ),
        Peer(
            "warprec",
            "WarpRec 2.2.8",
            (
                ("torch==2.13.0",),
                # What `warprec.evaluation` imports, within WarpRec's own bounds. It also asks for
                # hyperopt, tensorboard and two packages of type stubs, which evaluating never uses.
                ("numpy==2.4.6", "scipy==1.17.1", "pandas==2.3.3", "polars==1.44.2"),
                ("scikit-learn==1.9.1", "lightning==2.6.6", "torchmetrics==1.9.0", "narwhals<3"),
                ("ray[tune]==2.60.0", "optuna==4.9.0", "coolname==5.0.0", "loguru==0.7.3"),
                ("pydantic<3", "pyyaml", "tabulate==0.9.0"),
                # It asks for Python 3.12, for which there may be no CPU build of this torch. One
                # message is all that Python 3.11 cannot compile.
                ("--no-deps", "--ignore-requires-python", "warprec==2.2.8"),
            ),
            (Edit("warprec/utils/config/common.py", "{'\\t'}", "tab"),),
        ),
    )
}


def make_environment(peer: Peer) -> None:
    """Make an empty environment, with another Python if the library needs one."""
    folder = ENVIRONMENTS / peer.name
    if not peer.interpreter:
        venv.EnvBuilder(with_pip=True, clear=True).create(folder)
        return
    found = shutil.which(peer.interpreter)
    if found is None:
        raise SystemExit(f"{peer.name} needs {peer.interpreter}, which is not on the PATH")
    subprocess.run([found, "-m", "venv", "--clear", str(folder)], check=True)


def install(peer: Peer) -> None:
    """Make one environment from nothing; a failed pip step ends the program with pip's message."""
    print(f"{peer.name}: making the environment", flush=True)
    peer.finished.unlink(missing_ok=True)
    make_environment(peer)
    for step in peer.steps:
        subprocess.run([str(peer.python), "-m", "pip", "install", "--quiet", *step], check=True)
    for edit in peer.edits:
        apply(edit, peer.python)
    peer.finished.write_text(peer.recipe)
    print(f"{peer.name}: ready", flush=True)


def apply(edit: Edit, python: Path) -> None:
    """Make an edit in the packages of an environment; refuse if its place is not there once."""
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = subprocess.run(
        [str(python), "-c", where], check=True, capture_output=True, text=True
    )
    file = Path(packages.stdout.strip()) / edit.file
    text = file.read_text(encoding="utf-8")
    if text.count(edit.old) != 1:
        raise ValueError(f"{edit.old!r} stands {text.count(edit.old)} times in {file}, not once")
    file.write_text(text.replace(edit.old, edit.new), encoding="utf-8")


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description="environments of the peers we measure against")
    parser.add_argument("action", choices=["install", "list"])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(PEERS)}")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(PEERS))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(PEERS)}")
    for name in arguments.names or PEERS:
        peer = PEERS[name]
        if arguments.action == "list":
            state = "installed" if peer.installed else f"missing: {peer.command}"
            print(f"{peer.label:20s} {state}")
        elif arguments.names or not peer.installed:
            install(peer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
