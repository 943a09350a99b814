"""The `coordinator` protocol: an elected coordinator assigns, members follow its commands.

This room has both sides: the candidate with its term of office and registry, and the member.
"""
