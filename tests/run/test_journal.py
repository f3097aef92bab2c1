"""The journal of a batch: the last entry of each species, in the order of the run."""

from pathlib import Path

from sdm.run.journal import DONE, FAILED, Journal, JournalEntry


def entry(name: str, status: str = DONE) -> JournalEntry:
    return JournalEntry(species=name, status=status, seconds=1.0, row={"species": name, "status": status})


def test_entries_are_in_the_order_of_the_run_whichever_was_finished_first(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.begin(["alba", "nigra", "rubra"], "sdm fit")
    journal.add([entry("rubra"), entry("alba", FAILED)])
    record = journal.read()
    assert [row["species"] for row in record.rows] == ["alba", "rubra"]
    assert record.finished == 1
    journal.begin(["nigra", "alba"], "sdm fit --resume")
    journal.add([entry("nigra"), entry("alba")])
    record = journal.read()
    assert [(row["species"], row["status"]) for row in record.rows] == [
        ("alba", DONE),
        ("nigra", DONE),
        ("rubra", DONE),
    ]
    assert record.finished == 3
