"""Rows of the size that the file has that imports this one."""

import mutual
from common import Rows


def rows():
    return Rows(mutual.SIZE)
