"""When Python looks for garbage."""

import gc

import pytest

from sdm.executors import garbage


def test_what_is_imported_is_not_looked_through_and_later_garbage_is(monkeypatch: pytest.MonkeyPatch) -> None:
    before, callbacks = gc.get_threshold(), list(gc.callbacks)
    monkeypatch.setattr(garbage, "IMPORTED", 5_000)
    gc.collect()
    try:
        garbage.look_late_for_garbage()
        looks = gc.get_stats()[0]["collections"]
        kept = [[] for _ in range(4_000)]
        assert gc.get_stats()[0]["collections"] == looks
        assert gc.get_threshold()[0] == 5_000
        kept += [[] for _ in range(2_000)]
        assert gc.get_stats()[0]["collections"] == looks + 1
        assert gc.get_threshold() == garbage.RARELY
        assert gc.callbacks == callbacks
    finally:
        gc.callbacks[:] = callbacks
        gc.set_threshold(*before)
