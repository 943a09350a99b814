"""A schema registry with Confluent's API: how it is reached, and what it is asked.

Belongs here: addresses, logins, requests, retries. Does not: what a schema means (`formats`).
"""
