"""Permissions: what a sweep may run or set on this machine, and what the user has allowed so far."""
