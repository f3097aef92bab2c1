"""The pages of results of any kind, made again from what runs stored."""

from sdm.report.pages.index import make_pages

__all__ = ["make_pages"]
