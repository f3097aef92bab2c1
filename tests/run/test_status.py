"""`sdm status` of a batch, from another terminal: whether to wait, to worry, or to resume."""

from sdm.run.status import BatchStatus


def status_lines(done, failed, running, planned, seconds, ended, since) -> list[str]:
    return BatchStatus(planned, done, failed, running, seconds, ended, since).lines


def test_a_batch_at_work() -> None:
    failed = {
        "one usable presence": ["Abies alba", "Acer negundo", "Betula nana", "Carex alba", "Drosera anglica"],
        "the solver did not converge": ["Erica carnea"],
    }
    running = [("Fagus sylvatica", 1.0), ("Gagea lutea", 12.4)]
    lines = status_lines(394, failed, running, 1000, [2.0, 4.0, 3.0, 3.0], False, 600.0)
    assert lines == [
        "done         394 of 1,000 species (39.4 %)",
        "failed       6",
        "       5     Abies alba, Acer negundo, Betula nana, … (2 more): one usable presence",
        "       1     Erica carnea: the solver did not converge",
        "running      2, with 2 processes",
        "             Gagea lutea: 12 s so far",
        "             Fagus sylvatica: 1 s so far",
        "waiting      598",
        "per species  3 s (median 3 s, longest 4 s)",
        "time         10 min so far, about 14 min left",
    ]


def test_time_left_is_that_of_the_work_shared_by_the_processes() -> None:
    running = [(name, 0.0) for name in "abcd"]
    one, four = (status_lines(10, {}, running[:n], 110, [5.0] * 10, False, 50.0)[-1] for n in (1, 4))
    assert one.endswith("about 8 min left")
    assert four.endswith("about 2 min left")
    last = status_lines(99, {}, [("Zea mays", 1.0)], 100, [5.0] * 99, False, 99.0)
    assert last[-1].endswith("about 4 s left"), "one species is not shared by several processes"


def test_before_the_first_species_is_finished() -> None:
    lines = status_lines(0, {}, [("Abies alba", 70.0)], 20, [], False, 70.0)
    assert lines[0] == "done         0 of 20 species (0 %)"
    assert "running      1, with 1 process" in lines
    assert lines[-1] == "time         70 s so far; remaining time unknown until the first species is finished"


def test_a_batch_that_is_over() -> None:
    lines = status_lines(19, {"no records": ["Abies alba"]}, [], 20, [1.0] * 19, True, 30.0)
    assert lines[-1] == "time         finished after 30 s"
    assert not [line for line in lines if line.startswith(("waiting", "running"))]


def test_a_batch_that_was_interrupted_says_how_to_go_on() -> None:
    lines = status_lines(999, {}, [("Abies alba", 5.0)], 1001, [1.0] * 999, True, 7200.0)
    assert lines[0] == "done         999 of 1,001 species (99.8 %)"
    assert "waiting      2" in lines, "what was running when it ended is not running any more"
    assert not [line for line in lines if line.startswith("running")]
    assert lines[-1] == "time         interrupted after 2 h 0 min: continue with --resume"


def test_all_but_one_is_not_all() -> None:
    assert status_lines(99_999, {}, [], 100_000, [], False, 1.0)[0].endswith("(99.9 %)")
    assert status_lines(100_000, {}, [], 100_000, [], False, 1.0)[0].endswith("(100 %)")
    assert status_lines(100_000, {}, [], 100_000, [], False, 1.0)[-1].endswith("writing the summary")
