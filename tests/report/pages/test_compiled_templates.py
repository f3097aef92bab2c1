"""Templates as code, kept from run to run: the same pages, and no trust in a file that is damaged."""

import pytest
from jinja2 import DictLoader, Environment

from sdm.report.pages.compiled_templates import CompiledTemplates, compiled_templates


def filled(cache: CompiledTemplates | None, text: str = "{% for x in xs %}<{{ x }}>{% endfor %}") -> str:
    environment = Environment(loader=DictLoader({"page.html": text}), autoescape=True, bytecode_cache=cache)
    return environment.get_template("page.html").render(xs=["a", "&"])


def test_the_page_is_the_same_with_kept_code(tmp_path) -> None:
    expected = filled(None)
    assert filled(CompiledTemplates(tmp_path)) == expected == "<a><&amp;>"
    (kept,) = tmp_path.iterdir()
    before = kept.stat().st_mtime_ns
    assert filled(CompiledTemplates(tmp_path)) == expected
    assert kept.stat().st_mtime_ns == before, "the code was read, not made again"
    assert filled(CompiledTemplates(tmp_path), "{{ xs[0] }}") == "a", "another text has code of its own"


@pytest.mark.parametrize("damage", [b"", b"junk", "cut", "flip"])
def test_damaged_code_is_made_again(tmp_path, damage) -> None:
    expected = filled(CompiledTemplates(tmp_path))
    (kept,) = tmp_path.iterdir()
    whole = kept.read_bytes()
    flipped = whole[:-1] + bytes([whole[-1] ^ 255])
    kept.write_bytes({"cut": whole[:-9], "flip": flipped}.get(damage, damage))
    assert filled(CompiledTemplates(tmp_path)) == expected
    assert kept.read_bytes() == whole


def test_without_a_folder_there_is_no_cache(tmp_path, monkeypatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("SDM_CACHE_DIR", str(blocked))
    assert compiled_templates() is None
    monkeypatch.setenv("SDM_CACHE_DIR", str(tmp_path / "cache"))
    assert compiled_templates(True) is not None
    assert len({folder.name for folder in (tmp_path / "cache").iterdir()} | {"x"}) == 2
