"""Short calls go to a cluster together; a long one never makes others wait behind it."""

import asyncio
import pickle
import time

import pytest
from clusters.tasks import square

from sdm.executors.ahead import MANY, threads_for
from sdm.executors.clusters.bundles import SECONDS, Bundles, Call
from sdm.executors.clusters.remote import versions_here, work


@pytest.fixture
def loop():
    made = asyncio.new_event_loop()
    yield made
    made.close()


def sizes(bundles: Bundles, calls: list[Call]) -> list[int]:
    return [len(bundle) for bundle in bundles.divide(calls)]


def test_calls_are_bundled_once_they_are_known_to_be_short(loop: asyncio.AbstractEventLoop) -> None:
    bundles = Bundles()
    fits = [Call("fit", b"", loop) for _ in range(12)]
    maps = [Call("map", b"", loop) for _ in range(2)]
    assert sizes(bundles, fits) == [1] * 12
    bundles.learn(fits, [SECONDS / 5.5] * 12)
    assert (sizes(bundles, fits + maps), bundles.most) == ([5, 5, 2, 1, 1], 5)
    bundles.learn(fits[:1], [20 * SECONDS])
    assert (sizes(bundles, fits), bundles.most) == ([1] * 12, 1)


def test_calls_that_were_cancelled_are_not_sent(loop: asyncio.AbstractEventLoop) -> None:
    calls = [Call("fit", b"", loop) for _ in range(3)]
    calls[1].cancel()
    assert [call for bundle in Bundles().divide(calls) for call in bundle] == [calls[0], calls[2]]
    assert not calls[1].settle(True, 5)
    assert calls[0].settle(True, 5)
    assert calls[0].result() == 5


def test_a_worker_sends_back_what_it_has_done_when_calls_take_longer_than_thought() -> None:
    tasks = [(square, (3,), {}), (time.sleep, (2 * SECONDS,), {}), (square, (4,), {})]
    seconds, answers = pickle.loads(work([pickle.dumps(task) for task in tasks], versions_here()))  # noqa: S301
    assert [pickle.loads(answer) for answer in answers] == [(True, square(3)), (True, None)]  # noqa: S301
    assert seconds[1] >= 2 * SECONDS


def test_a_worker_beside_others_fits_with_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SDM_THREADS", raising=False)
    _, answers = pickle.loads(work([pickle.dumps((threads_for, (MANY,), {}))], versions_here()))  # noqa: S301
    assert [pickle.loads(answer) for answer in answers] == [(True, 1)]  # noqa: S301
