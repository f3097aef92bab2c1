"""What is going on in a run: counts, rates and time left; wrong ones send users home, or keep them waiting."""

import doctest
import importlib
import threading

import pytest

from sdm.progress.stages import Stage, Stages
from sdm.progress.telling import StepCount, going_on, species_stage, step_by_step


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class Heard:
    """What a listener hears."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    def began(self, stage: Stage) -> None:
        self.calls.append(("began", stage.line(stage.updated)))

    def ended(self, stage: Stage) -> None:
        self.calls.append(("ended", stage.line(stage.updated)))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def stages(clock: Clock, heard: Heard) -> Stages:
    return Stages([heard], clock)


@pytest.mark.parametrize("name", ["sdm.progress.stages", "sdm.progress.telling"])
def test_examples_in_the_documentation(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted >= 3
    assert results.failed == 0


def test_a_stage_that_goes_back_begins_again(stages: Stages, clock: Clock, heard: Heard) -> None:
    """The rate of the first time would give a wrong time left."""
    for done in (0, 5, 2):
        clock.now += 10
        stages(done, 10, "cross-validation")
    assert [what for what, _ in heard.calls] == ["began", "began"]
    assert [(stage.done, stage.began) for stage in stages.active()] == [(2, clock.now)]


def test_a_stage_from_its_beginning_to_its_end(stages: Stages, clock: Clock, heard: Heard) -> None:
    stages(0, 10, "cross-validation")
    clock.now += 2.5
    stages(3, 10, "cross-validation")
    (stage,) = stages.active()
    assert stage.line(clock.now) == "cross-validation: 3 of 10, 1.2 per second, 6 s left"
    clock.now += 7.5
    stages(10, 10, "cross-validation")
    assert not stages.active()
    assert heard.calls == [("began", "cross-validation: 0 of 10"), ("ended", "cross-validation: 10 of 10 in 10 s")]


def test_slow_steps_are_told_by_their_time(stages: Stages, clock: Clock) -> None:
    stages(0, 5, "null models")
    clock.now += 80
    stages(2, 5, "null models")
    assert stages.active()[0].line(clock.now) == "null models: 2 of 5, 40 s each, 2 min left"


def test_the_time_left_falls_while_a_step_goes_on_and_rises_when_it_takes_longer(stages: Stages, clock: Clock) -> None:
    stages(0, 4, "map")
    clock.now += 10
    stages(1, 4, "map")
    stage = stages.active()[0]
    assert stage.seconds_left(110) == pytest.approx(30)
    assert stage.seconds_left(117) == pytest.approx(23)
    assert stage.seconds_left(140) == pytest.approx(30), "a step of 30 s counts before it ends"
    assert Stage("map", 3, 4, 0, 0.0, 30.0).seconds_left(1000.0) is None, "nobody knows when the last step ends"


def test_what_was_done_before_does_not_count_for_the_rate(stages: Stages, clock: Clock) -> None:
    """A run that is resumed with 900 of 1,000 species done has not done them in a second."""
    stages(900, 1000, species_stage())
    clock.now += 20
    stages(910, 1000, species_stage(2))
    assert stages.active()[0].line(clock.now) == "species: 910 of 1,000, 2 failed, 2 s each, 3 min left"


def test_stages_without_steps(stages: Stages, clock: Clock, heard: Heard) -> None:
    with going_on(stages, "fitting"):
        (stage,) = stages.active()
        assert stage.line(clock.now) == "fitting: begins"
        clock.now += 75
        assert stage.line(clock.now) == "fitting: 75 s so far"
    assert heard.calls[-1] == ("ended", "fitting: done in 75 s")


def test_the_models_of_a_run_are_above_their_stages(stages: Stages, clock: Clock) -> None:
    stages(0, 3, species_stage())
    stages(0, 5, "cross-validation")
    stages(2, 5, "cross-validation")
    assert [(stage.name, stage.upper, stage.inner) for stage in stages.active()] == [
        ("species", True, False),
        ("cross-validation", False, True),
    ]
    stages(1, 3, species_stage(failed=1))
    assert [stage.count for stage in stages.active()] == ["1 of 3, 1 failed"], "its cross-validation went with it"


def test_a_stage_that_begins_again_is_another_one(stages: Stages, clock: Clock, heard: Heard) -> None:
    stages(0, 5, "map")
    stages(4, 5, "map")
    clock.now += 60
    stages(0, 5, "map")
    assert [stage.seconds(clock.now) for stage in stages.active()] == [0.0]
    stages(5, 5, "map")
    stages(5, 5, "map")
    assert [what for what, _ in heard.calls] == ["began", "began", "ended"], "the second end is no news"


def test_what_did_not_end_goes_with_what_it_began_in(stages: Stages, clock: Clock) -> None:
    """A species that fails within its cross-validation: the next one begins with a clean table."""
    stages(0, 2, "scenarios")
    clock.now += 1
    stages(0, 5, "map")
    clock.now += 60
    stages(0, 5, "map")
    assert [stage.seconds(clock.now) for stage in stages.active()] == [61.0, 0.0], "this map is another one"
    stages(2, 2, "scenarios")
    assert not stages.active()


def test_fewer_steps_than_planned(stages: Stages, heard: Heard) -> None:
    count = StepCount(stages, "penalties", 36)
    for _ in range(3):
        count.step()
    count.remain(6)
    count.step()
    assert stages.active()[0].count == "4 of 9"
    count.end()
    assert heard.calls[-1][1].startswith("penalties: 4 of 4 in ")


def test_a_stage_inside_another_and_items_that_fail(stages: Stages) -> None:
    seen = []
    for _ in step_by_step([1, 2], stages, "scenarios"):
        with going_on(stages, "dispersal"):
            seen.append([stage.name for stage in stages.active()])
    assert seen == [["scenarios", "dispersal"]] * 2
    with pytest.raises(ZeroDivisionError), going_on(stages, "map"):
        raise ZeroDivisionError
    assert [stage.name for stage in stages.active()] == ["map"], "it did not end: whoever catches it says what failed"


def test_many_threads_at_once() -> None:
    """Threads that tell stages of the same name do not disturb one another, and nothing is lost."""
    heard = Heard()
    stages = Stages([heard])
    ready = threading.Barrier(8)
    most = []

    def work() -> None:
        ready.wait()
        for k in range(301):
            stages(k, 300, "map")
            if k == 150:
                ready.wait()
                most.append(len(stages.active()))
                ready.wait()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert most == [8] * 8
    assert not stages.active()
    assert sorted(what for what, _ in heard.calls) == ["began"] * 8 + ["ended"] * 8


def test_a_listener_may_ask_for_the_stages() -> None:
    """A line above the bars makes the terminal ask what to show: were the lock held, the run would hang."""

    class Asking(Heard):
        def ended(self, stage: Stage) -> None:
            found = threading.Thread(target=stages.active, daemon=True)
            found.start()
            found.join(20)
            assert not found.is_alive()
            super().ended(stage)

    heard = Asking()
    stages = Stages([heard])
    stages(0, 2, "map")
    stages(2, 2, "map")
    assert len(heard.calls) == 2
