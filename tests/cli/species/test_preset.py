"""`--preset best`: the mean of a committee and of shared axes."""

import json
from pathlib import Path

from inputs.reading import refusal
from terminal import BARE, PLAIN, as_json, rows, succeed

from sdm.errors import OptionError

QUICKEST = ("--categorical", "landcover", "--no-curves", "--no-map", *PLAIN)


def test_the_preset_stands_for_its_options(world, tmp_path: Path) -> None:
    words = ("fit", world.both, world.layers, *QUICKEST)
    succeed(*words, "--preset", "best", "-o", tmp_path / "preset")
    own = ("--model", "ensemble", "--multiplier", 1, "--background", "target-group")
    succeed(*words, *own, "-o", tmp_path / "own")
    for path in (tmp_path / "preset").rglob("*.npz"):
        other = tmp_path / "own" / path.relative_to(tmp_path / "preset")
        assert path.read_bytes() == other.read_bytes()
    numbers = json.loads(next((tmp_path / "preset").rglob("Virt*.json")).read_text())
    assert numbers["members"] == 6
    assert numbers["status"] == "converged"
    model = next((tmp_path / "preset").rglob("Virt*.npz"))
    succeed("report", model)
    page = next((tmp_path / "preset").rglob("Virt*.html")).read_text()
    assert "Certified members, not their mean: 5 models" in page
    assert "another solver could not" not in page
    said = succeed("info", model).output
    assert "shared axes certified for all species together" in said


def test_what_is_given_goes_before_the_preset(world, tmp_path: Path) -> None:
    words = ("--preset", "best", "--background", "random", "--multiplier", 2, "-o", tmp_path / "out")
    result = as_json("fit", world.records, world.layers, *QUICKEST, *words)["models"][0]["numbers"]
    assert result["background_points"] > 500
    assert "ensemble" in (tmp_path / "out" / "run.yaml").read_text()
    assert (result["members"], "shared" in result) == (5, False), "one species has no group: the committee alone"


def test_the_run_file_repeats_it(world, tmp_path: Path) -> None:
    (tmp_path / "run.yaml").write_text(
        f"preset: best\noccurrences: {world.both}\nlayers: {{files: {world.layers}, categorical: landcover}}\n"
        "test: {importance: false}\noutput: {curves: false, map: false, report: false, dpi: 50}\n"
    )
    succeed("fit", tmp_path / "run.yaml", "-o", tmp_path / "one")
    name = next((tmp_path / "one").glob("Virt*/run.yaml"))
    succeed("fit", name, "-o", tmp_path / "two")
    first = next(name.parent.glob("*.npz"))
    assert rows(tmp_path / "one" / "summary.csv")
    again = tmp_path / "two" / name.parent.name / first.name
    assert again.read_bytes() == first.read_bytes(), "axes are of all species, so that the run file is of all"


def test_a_target_group_of_one_species_is_refused(world) -> None:
    words = (world.records, world.layers, *BARE)
    assert "--target-group FILE" in refusal(OptionError, *words, "--background", "target-group")
    assert "--background random" in refusal(OptionError, *words[:2], "--preset", "best")
