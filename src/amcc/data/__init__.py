"""Where data come from: named public sets, features of items, and simulated crowds, where the truth is known.

registry, reading        which public sets there are; how they are found, read and checked
layout, sonyc, mulan     one reader for each way in which sets lie on disk
features, feature_set    features of items that were voted on; features and labels without votes
simulate                 crowds of any size, drawn from a `CrowdSpec`
simulated_workers        the paper's workers: classifiers (ranksvm) and spammers
"""
