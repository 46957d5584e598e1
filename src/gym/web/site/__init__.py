"""A fictional site that no model has read: a small world drawn from a seed, its pages, and questions whose proofs are checked.

    world → pages → HTML, links, text → questions → splits

Everything up to the files is a value; one seed gives the same bytes everywhere.
"""
