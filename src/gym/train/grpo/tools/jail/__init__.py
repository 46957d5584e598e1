"""What runs around and inside the process of a model's code: the standard library only, and nothing of `gym`.

The child imports this folder as a package of its own, `jail` (hence the relative imports): it starts in a tenth of the time that
`gym` needs, and holds nothing worth reading. `launch` enters namespaces, `supervisor` keeps limits and the protocol,
`interpreter` runs the code behind `lockdown`.
"""
