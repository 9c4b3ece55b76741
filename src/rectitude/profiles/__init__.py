"""Profiles: the conventions of other frameworks, by release, as data.

A profile is a TOML file beside this module. It sets switches for all metrics, overrides some of
them for one metric, and says what the framework's own names and variants mean. Nothing in the code
asks for a profile's name.

    framework = "RecTools"
    versions = ["0.19.0"]                      releases whose values are reproduced
    about = "..."
    padding = 0                                the item that is never recommended from dense scores

    [convention]                               switches, for every metric
    ideal = "k"

    [metrics.hits]                             one metric: its name here, switches, numbers
    metric = "hit"
    hit_as = "count"

    [metrics."recall[macro]"]                  a name with all its variants; then neither
    metric = "macro_recall"                    [metrics.recall] nor [variants] is looked at

    [metrics."accuracy@k"]                     a name with a cutoff, any one: @k, or one: @5
    ties = "item_descending"

    [variants]                                 what stands in brackets: switches it sets,
    burges = { gain = "exp2" }                 ndcg[burges]@10
    rel = "relevant_from"                      or the switch or number it renames: ndcg[rel=2]@10

    [absent]                                   the framework's metrics that are not here, where a
    mcc = "of each user's list"                metric of ours has the name: name -> what it is there

    [known_differences]                        honest exceptions: metric name -> cause

What is nearer to the name wins: [convention], then the switches that a metric's own definition
fixes, then its entry here, then the variants asked for. A file of one's own is used by its path:
`convention="mine.toml"`.
"""

from rectitude.profiles.profile import PROFILES, Asked, Profile, is_file, named, profile_of

__all__ = ["PROFILES", "Asked", "Profile", "is_file", "named", "profile_of"]
