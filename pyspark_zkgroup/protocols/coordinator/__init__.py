"""The `coordinator` protocol: an elected coordinator assigns, members follow its commands.

Both sides are here: the candidate, its term of office and registry, and the member.
"""
