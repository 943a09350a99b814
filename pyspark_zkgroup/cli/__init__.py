"""The command `zkgroup`: one module for each subcommand. Arguments, tables and exit codes.

What a command finds out comes from inspect; it is loaded when the command runs.
"""
