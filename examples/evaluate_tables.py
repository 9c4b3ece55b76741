"""The same lists as Polars and pandas frames, dicts and files: the same bits from each.

python examples/evaluate_tables.py        (pandas is used if it is installed)
"""

import tempfile
from pathlib import Path

import polars as pl

import rectitude as rt

truth = pl.DataFrame({"user": ["ann", "ann", "bob", "cat"], "item": ["tea", "jam", "tea", "oil"]})
predictions = pl.DataFrame(
    {
        "user": ["ann", "ann", "ann", "bob", "bob"],
        "item": ["jam", "rye", "tea", "oil", "tea"],
        "score": [0.9, 0.8, 0.7, 0.6, 0.5],
    }
)
metrics = ["ndcg@{1,3}", "recall@3", "mrr"]

evaluation = rt.evaluate(predictions, truth, metrics)
print(evaluation)  # the numbers, and below them what was counted: cat has no list
print(evaluation.definition("ndcg@3"))
print(evaluation.per_user())

# A dict of lists, best item first.
given = {"ann": ["jam", "rye", "tea"], "bob": ["oil", "tea"]}
wanted = {"ann": ["tea", "jam"], "bob": ["tea"], "cat": ["oil"]}
values = [evaluation.values(), rt.evaluate(given, wanted, metrics).values()]

# Files: CSV, TSV, Parquet, TREC runs and qrels, compressed or not.
with tempfile.TemporaryDirectory() as folder:
    truth.write_csv(Path(folder, "truth.csv"))
    predictions.write_parquet(Path(folder, "run.parquet"))
    values.append(rt.evaluate(f"{folder}/run.parquet", f"{folder}/truth.csv", metrics).values())

try:  # Any frame that narwhals knows. Usual column names are recognised, others can be given.
    import pandas as pd
except ImportError:
    print("pandas is not installed")
else:
    run = pd.DataFrame(predictions.to_dict(as_series=False)).rename(columns={"item": "product"})
    values.append(rt.evaluate(rt.Lists(run, item="product"), truth, metrics).values())

print("the same bits:", all(one == values[0] for one in values))
