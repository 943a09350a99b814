"""Certificates, logins and tokens as values whose secrets never appear in text."""
