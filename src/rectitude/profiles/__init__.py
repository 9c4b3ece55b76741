"""Profiles: the conventions of other frameworks, by release, as data.

A profile is a TOML file next to this module. It sets switches for all metrics, overrides some of
them for individual metrics, and defines the framework's metric names and variants. No code depends
on the name of a profile.

    framework = "RecTools"
    versions = ["0.19.0"]                      releases whose values are reproduced
    about = "..."
    padding = 0                                an item that is never recommended from dense scores

    [convention]                               switches, for every metric
    ideal = "k"

    [metrics.hits]                             one metric: our name for it, switches, parameters
    metric = "hit"
    hit_as = "count"

    [metrics."recall[macro]"]                  an exact name with its variants; [metrics.recall] and
    metric = "macro_recall"                    [variants] are then ignored

    [metrics."accuracy@k"]                     a name with a cutoff: @k for any, @5 for that one
    ties = "item_descending"

    [names]                                    the framework's name of a metric, and the name used
    HitRate = "hit"                            here, if another framework means something else by it

    [variants]                                 a variant in brackets: the switches it sets, as in
    burges = { gain = "exp2" }                 ndcg[burges]@10,
    rel = "relevant_from"                      or the switch or parameter it renames: ndcg[rel=2]@10

    [absent]                                   metrics of the framework that rectitude lacks but
    mcc = "of each user's list"                whose name it uses for another one: name -> meaning

    [known_differences]                        values that are not reproduced: metric name -> cause;
                                               "nothing to evaluate" is for refused evaluations

The most specific setting wins. From general to specific: [convention], the switches that the
definition of a metric fixes, the metric's entry in the profile, the variants in the name. To use
your own file, pass its path: `convention="mine.toml"`.
"""

from rectitude.profiles.profile import PROFILES, Asked, Profile, find_profile, is_file, profile_of

__all__ = ["PROFILES", "Asked", "Profile", "find_profile", "is_file", "profile_of"]
