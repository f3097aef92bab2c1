"""Every rule of tools/words.yaml finds its bad example and accepts its good one, in every kind of file."""

import sys
from pathlib import Path

import pytest

from tools import words

BAD = "The cutoff of the map is mended."
SOURCES = {
    "page.md": f"# Title\n\nA paragraph\nof two lines. {BAD}\n\n```\nmend it\n```\n",
    "page.html": f"{{% if x %}}\n<p>Two <b>words</b>\n\n{BAD}</p>\n<script>mend()</script>",
    "page.js": f"// mend\nlet x;\n\nshow('{BAD}')",
    "code.py": f'"""Mend."""\n# mend\n\nerror = f"{{x}}: {BAD}"\n',
}


@pytest.mark.parametrize("rule", words.rules(), ids=lambda rule: rule.bad)
def test_a_rule_finds_its_bad_example_and_accepts_the_good_one(rule: words.Rule) -> None:
    assert rule.name in [name for _, name, _ in words.problems(rule.bad)]
    assert not list(words.problems(rule.good))


def test_long_sentences_and_chains_of_clauses_are_found() -> None:
    short = " ".join(["the", *["word"] * (words.LONGEST - 1)])
    assert not list(words.problems(f"{short}. W{short[1:]}"))
    assert [name for _, name, _ in words.problems(f"{short} more.")] == ["length"]
    assert [name for _, name, _ in words.problems("one; two; three")] == ["semicolons"]
    assert not list(words.problems("one; two"))


@pytest.mark.parametrize("name", SOURCES)
def test_findings_name_their_file_and_line(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.write_text(SOURCES[name], encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["words", str(tmp_path)])
    with pytest.raises(SystemExit, match="2 findings"):
        words.main()
    assert {line.split(": ")[0] for line in capsys.readouterr().out.splitlines()} == {f"{path}:4"}


def test_a_clean_file_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "page.md").write_text("The threshold of the map is fixed.\n", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["words", str(tmp_path)])
    with pytest.raises(SystemExit) as end:
        words.main()
    assert not end.value.code


def test_help_of_commands_is_read() -> None:
    text = '@with_console\ndef fit():\n    """Fit, and mend."""\n\n\ndef other():\n    """Mend."""\n'
    assert [line for line, _ in words.python(text)] == [2]
