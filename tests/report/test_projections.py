"""Figures, pages and the index of projections: right numbers, no name gets out of its place, odd cases are drawn."""

import base64
import itertools
import json
import shutil
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest
import rasterio
from evil import EVIL, EVIL_LAYER
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image
from report_runs import project
from scipy.ndimage import binary_dilation, binary_erosion
from terminal import succeed

from sdm.errors import DataError
from sdm.kinds.pages import make_page, make_pages
from sdm.kinds.registry import read_results
from sdm.report.figures.maps.plan import MapFrame
from sdm.report.figures.projection.scenarios import draw_scenarios, extrapolated_cells, hatch, spanned
from sdm.report.figures.projection.shifts import _enlarge, draw_change
from sdm.report.figures.style import own_axes
from sdm.report.pages.maps.scenario_panel import AROUND, LEVELS, panel
from sdm.report.paper import Paper
from sdm.report.pictures import read_picture, resized
from sdm.report.projection import StoredProjection, find_projections

ROOT = Path(__file__).parents[2]
SMALL = Paper(("png",), 72)
FIELDS = ("gcm", "ssp", "period")


def combinations(*values: list[str]) -> list[dict[str, str]]:
    return [dict(zip(FIELDS, row)) for row in itertools.product(*values)]


GRID = combinations(["MIROC6", EVIL_LAYER], ["ssp126", "ssp585"], ["2050", "2090"])


@pytest.fixture(scope="module")
def projected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight scenarios of two species, one of them and a climate model with names that would run a script."""
    return project(tmp_path_factory.mktemp("projected") / "out", ("Virtualis montanus", EVIL), GRID)


def stored(folder: Path, name: str = "Virtualis montanus") -> StoredProjection:
    (found,) = [n for p in find_projections(folder) if (n := json.loads(p.read_text()))["species"] == name]
    return StoredProjection(folder, found)


def results_of(folder: Path, name: str = "Virtualis montanus") -> Any:
    (found,) = [r for path in find_projections(folder) if (r := read_results(path)).title == name]
    return found


class Elements(HTMLParser):
    """The elements of a page, the text of its sections, its tables as rows, and its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.sections: dict[str, str] = {}
        self.rows: list[list[str]] = []
        self.scripts: list[str] = []
        self.inside, self.script = "", False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.found.append((tag, known))
        if tag == "section":
            self.inside = str(known["id"])
            self.sections[self.inside] = ""
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag == "script":
            self.scripts.append("")
            self.script = True

    def handle_endtag(self, tag: str) -> None:
        self.script = self.script and tag != "script"

    def handle_data(self, data: str) -> None:
        if self.script:
            self.scripts[-1] += data
        elif self.rows and self.rows[-1]:
            self.rows[-1][-1] += data.rstrip(chr(10))
        if self.inside:
            self.sections[self.inside] += data


def cells(entry: dict[str, Any], kind: str, data: dict[str, Any]) -> np.ndarray:
    """A map of the panel as the page unpacks it."""
    grid = data["grids"][entry["grid"]]
    planes = np.frombuffer(zlib.decompress(base64.b64decode(entry["layers"][kind])), np.uint8).astype(np.uint16)
    high, low = planes.reshape(2, grid["height"], grid["width"])
    return (high << 8) | low


def band(folder: Path, name: str) -> np.ma.MaskedArray:
    with rasterio.open(folder / name) as source:
        return source.read(1, masked=True)


def test_the_panel_has_the_rasters_themselves(projected: Path) -> None:
    projection = stored(projected)
    data = panel(projection)
    assert data is not None
    json.dumps(data, allow_nan=False)
    entries = {entry["title"]: entry for entry in data["entries"]}
    for case in projection.cases:
        entry, files = entries[case.title], case.numbers["files"]
        wanted = band(projected, files["suitability"])
        shown = cells(entry, "suitability", data)
        gone = np.ma.getmaskarray(wanted)
        assert np.array_equal(shown == data["nothing"], gone)
        assert np.abs(shown[~gone] / LEVELS - wanted[~gone]).max() <= 1 / LEVELS
        outside = cells(entry, "mess", data)
        novel = band(projected, files["mess"]).filled(1) < 0
        assert np.array_equal((outside < AROUND // 2) & (outside != data["nothing"]), novel), "what is hatched"
        assert novel.any()
        for kind, name in (("presence", files["presence"]["maxsss"]), ("change", files.get("change"))):
            if name is not None:
                codes = band(projected, name)
                assert np.array_equal(cells(entry, kind, data), codes.astype(np.uint16).filled(data["nothing"]))
    assert data["kinds"]["change"]["classes"]["2"][0] == "gain"
    assert "change" not in entries["reference"]["layers"]


def test_a_value_just_below_zero_is_hatched_and_zero_is_not(tmp_path: Path) -> None:
    folder = project(tmp_path / "out", crs=None)
    path = folder / "A_2050" / "mess.tif"
    with rasterio.open(path, "r+") as target:
        values = np.zeros((target.height, target.width), np.float32)
        values[0, :4] = [-1e-4, -250.0, 250.0, -9999]
        target.write(values, 1)
    data = panel(stored(folder))
    assert data is not None
    shown = cells(data["entries"][1], "mess", data)
    assert shown[0, :5].tolist() == [AROUND // 2 - 1, 0, AROUND, data["nothing"], AROUND // 2]
    picture = read_picture(folder / "A_2050" / "Virtualis_montanus.tif")
    mask = extrapolated_cells(stored(folder).scenarios[0], picture, 512)
    assert mask is not None
    assert mask[0, :5].tolist() == [True, True, False, False, False]
    assert mask.sum() == 2


def test_groups_can_be_chosen_in_the_panel(projected: Path) -> None:
    projection = stored(projected)
    data = panel(projection)
    assert data is not None
    groups = [entry for entry in data["entries"] if entry["group"] == "Over scenarios"]
    assert [entry["title"] for entry in groups] == [f"mean over gcm: {group['title']}" for group in projection.groups]
    assert set(groups[0]["layers"]) == {"suitability", "sd", "agreement", "mess"}
    shared = projection.groups[0]["fields"]
    own = [case for case in projection.scenarios if shared.items() <= case.fields.items()]
    novel = [band(projected, case.numbers["files"]["mess"]).filled(1) < 0 for case in own]
    assert len(novel) == 2
    assert not np.array_equal(*novel)
    assert np.array_equal(cells(groups[0], "mess", data) < AROUND // 2, novel[0] | novel[1]), (
        "hatched where any is outside"
    )
    agreement = band(projected, projection.groups[0]["files"]["agreement"])
    assert np.array_equal(cells(groups[0], "agreement", data), agreement.astype(np.uint16).filled(data["nothing"]))
    assert list(data["kinds"]["agreement"]["classes"]) == ["0", "1", "2"]


def check_package(folder: Path, numbers: dict[str, Any]) -> None:
    """`results.gpkg` has the range of every scenario: its area, and where its middle is, are those of the run."""
    import geopandas

    centroids = geopandas.read_file(folder / "results.gpkg", layer="centroids").set_index("scenario")
    cases = [numbers["reference"], *numbers["scenarios"]]
    assert len(centroids) == len(cases) == 3
    for case in cases:
        row, known = centroids.loc[case["title"]], case["rules"]["maxsss"]
        assert row["area_km2"] == pytest.approx(known["km2"], rel=1e-9)
        assert (row.geometry.x, row.geometry.y) == pytest.approx((case["centroid"]["x"], case["centroid"]["y"]))
        patches = geopandas.read_file(folder / "results.gpkg", layer=f"range_{row['map']}")
        assert len(patches) == row["patches"] > 0
        assert patches["area_km2"].sum() == pytest.approx(known["km2"], rel=1e-9)
        assert set(patches["species"]) == {numbers["species"]}
        assert set(patches["scenario"]) == {case["title"]}


@pytest.mark.parametrize(("measures", "hatched"), [("mop", "mop_strict"), ("exdet,limiting", "exdet"), ("none", None)])
def test_any_measure_of_novelty_hatches(
    full: Path, world: Path, tmp_path: Path, measures: str, hatched: str | None
) -> None:
    """Through `sdm project`: without MESS the maps are hatched by ExDet or MOP, and all maps of novelty can be seen."""
    out = tmp_path / "out"
    (model,) = full.glob("*.npz")
    scenarios = ("--scenarios", f"a={world / 'warmer'}", "--scenarios", f"b={world / 'layers'}")
    given = ("--gpkg",) if measures == "none" else ()
    words = ("project", model, *scenarios, "--reference", world / "layers", "--novelty", measures, "--no-report")
    succeed(*words, *given, "-o", out)
    results = read_results(out)
    assert (out / "results.gpkg").exists() == bool(given)
    data = panel(StoredProjection(out, results.numbers))
    assert data is not None
    case = results.numbers["scenarios"][0]
    entry, group = data["entries"][1], data["entries"][-1]
    assert entry["hatched"] == group["hatched"] == hatched
    told = " ".join(Elements(make_page(results)).sections["maps"].split())
    if hatched is None:
        assert "no map of MESS, ExDet or MOP" in told
        check_package(out, results.numbers)
        return
    values = band(out, case["files"][hatched])
    novel = values.filled(5) < 0 if hatched == "exdet" else values.filled(5) == 1
    assert novel.any()
    low, beyond = data["kinds"][hatched]["novel"]
    shown = cells(entry, hatched, data)
    assert np.array_equal((shown >= low) & (shown < beyond), novel)
    assert np.array_equal(cells(group, hatched, data) == 1, novel), "hatched where any scenario is"
    assert {name for name in case["files"] if name != "presence"} <= set(entry["layers"])
    draw_scenarios(out, results.numbers, tmp_path / "novelty.png", "novelty", Paper(("png", "svg"), 40))
    figure = (tmp_path / "novelty.svg").read_text(encoding="utf-8")
    classes = [data["kinds"][hatched]["classes"][str(code)][0] for code in np.unique(shown) if code < 5]
    assert len(classes) > 1
    assert all(f">{name}<" in figure for name in classes), "the words of the page"
    if "limiting" in measures:
        variables = data["kinds"]["limiting"]["classes"]
        codes = band(out, case["files"]["limiting"])
        assert np.array_equal(cells(entry, "limiting", data), codes.astype(np.uint16).filled(data["nothing"]))
        assert {label for label, _ in variables.values()} == {"none", "landcover", *case["variables"]}
    maps = draw_scenarios(out, results.numbers, tmp_path / "maps.png", paper=SMALL)
    assert maps is not None


@pytest.mark.thorough
def test_a_page_stays_small_however_many_scenarios(tmp_path: Path) -> None:
    many = [{"run": str(k)} for k in range(30)]
    folder = project(tmp_path / "out", scenarios=many, size=(200, 160))
    projection = stored(folder)
    data = panel(projection)
    assert data is not None
    assert data["left_out"] == 30 - 24
    assert len([entry for entry in data["entries"] if entry["group"] == "Scenarios"]) == 24
    budget = 200_000
    small = panel(projection, budget)
    assert small is not None
    assert sum(len(text) for entry in small["entries"] for text in entry["layers"].values()) <= budget
    assert small["reduced"]
    assert small["grids"][0]["height"] < data["grids"][0]["height"]
    tiny = panel(projection, 20_000)
    assert tiny is not None
    assert tiny["left_out"] > 6
    assert [entry["title"] for entry in tiny["entries"]][:2] == ["reference", "0"]
    page = make_page(results_of(folder))
    assert "6 scenarios are not shown" in " ".join(page.split())


def test_the_page_says_what_the_numbers_say(projected: Path) -> None:
    results = results_of(projected)
    page = Elements(make_page(results))
    assert list(page.sections) == [
        *("maps", "table", "outside", "across", "variance", "shift", "mapping", "settings")
    ], "a section without anything in it is not there"
    rows = {row[0]: row[1:] for row in reversed(page.rows) if row}  # the table of layers has more rows of a scenario
    for case in results.numbers["scenarios"]:
        shown = rows[case["title"]]
        change, outside = case["change"], case["outside"]
        assert shown[0] == f"{case['rules']['maxsss']['km2']:,.0f}"
        assert shown[1] == f"{change['net_percent']:+.1f} %".replace("-", "−")
        assert shown[2] == f"{change['gain']['km2']:,.0f}"
        assert shown[3] == f"{change['loss']['km2']:,.0f}"
        assert shown[4] == f"{case['shift']['km']:,.1f} km NNE"
        assert shown[5] == f"{100 * outside['share']:.1f} %"
    group = results.numbers["across"][0]
    areas = group["numbers"]["agreement"]
    shown = rows[f"over gcm: {group['title']}"]
    assert shown[3:] == [f"{areas['1'] + areas['2']:,.0f}", f"{areas['1'] + areas['2']:,.0f}", f"{areas['2']:,.0f}"]
    assert rows["ssp"][-1] == "30.0 %"
    assert "bio1" in page.sections["outside"]
    assert "Inside everywhere: bio12" in " ".join(page.sections["outside"].split())
    assert "the prediction is an extrapolation" in page.sections["maps"]


def test_warnings_are_at_the_top(projected: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(projected, folder)
    path = folder / "Virtualis_montanus.json"
    tree = json.loads(path.read_text()) | {"warnings": [f"73 % of {EVIL} is a guess"], "notices": ["aligned <i>"]}
    path.write_text(json.dumps(tree))
    page = make_page(read_results(path))
    said = page.index("<li>73 % of &lt;/script&gt;")
    assert page.index('<section id="maps"') < said < page.index('<section id="table"')
    assert "aligned &lt;i&gt;" in page


def test_no_name_gets_out_of_its_place(projected: Path) -> None:
    page = Elements(make_page(results_of(projected, EVIL)))
    own = [(tag, attributes) for tag, attributes in page.found if tag in ("script", "style", "b", "i")]
    assert own == [("style", {}), ("script", {"type": "application/json", "id": "panel-data"}), ("script", {})]
    assert not [name for _, attributes in page.found for name in attributes if name.startswith("on")]
    assert not [attributes for tag, attributes in page.found if tag == "img"], "no picture was stored"
    used = ("page.js", "map_view.js", "map_layers.js", "panel.js")
    code = [(ROOT / "sdm" / "report" / "templates" / name).read_text() for name in used]
    assert page.scripts[-1] == "".join(code), "the only code is the package's own"
    assert EVIL_LAYER in page.sections["table"], "it is shown as it is written"
    titles = [entry["title"] for entry in json.loads(page.scripts[0])["entries"]]
    assert any(EVIL_LAYER in title for title in titles)


def test_a_file_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = project(tmp_path / "out")
    path = folder / "Virtualis_montanus.json"
    tree = json.loads(path.read_text())
    tree["scenarios"][0]["files"]["mess"] = "../secret.tif"
    (tmp_path / "secret.tif").write_bytes((folder / "A_2050" / "mess.tif").read_bytes())
    path.write_text(json.dumps(tree))
    with pytest.raises(DataError, match=r"'\.\./secret\.tif', not a file in it"):
        make_page(read_results(path))
    with pytest.raises(DataError, match="not a file in it"):
        draw_scenarios(folder, tree, tmp_path / "maps.png")


ODD: dict[str, dict[str, Any]] = {
    "one": {},
    "grid": {"scenarios": GRID},
    "many": {"scenarios": combinations(["a", "b", "c"], ["x", "y", "z"], ["1", "2", "3"])},
    "no fields": {"scenarios": [{"": EVIL_LAYER}, {"": "$x$ & y"}]},
    "no reference": {"reference": False, "scenarios": [{"run": f"run {k}"} for k in range(5)]},
    "no rule": {"rule": None},
    "no mess": {"mess": False, "crs": "EPSG:3035"},
    "no coordinate system": {"crs": None},
}


@pytest.mark.thorough
@pytest.mark.parametrize("which", ODD)
def test_odd_projections_are_drawn_and_have_their_page(which: str, tmp_path: Path) -> None:
    folder = project(tmp_path / "out", **ODD[which])
    path = folder / "Virtualis_montanus.json"
    numbers = json.loads(path.read_text())
    paper = Paper(("png",), 100)
    maps, change = (draw(folder, numbers, tmp_path / f"{name}.png", paper=paper) for name, draw in DRAWERS.items())
    assert maps is not None
    with Image.open(maps) as picture:
        assert min(picture.size) > 67
        assert max(picture.size) < 1000
    assert (change is None) == (which == "no rule"), "without a cutoff nothing is suitable or not"
    for key, found in (("maps", maps), ("change", change)):
        if found is not None:
            shutil.copy(found, folder / f"{key}.png")
            numbers["files"].setdefault("pictures", {})[key] = f"{key}.png"
    path.write_text(json.dumps(numbers))
    page = Elements(make_page(read_results(path)))
    assert ("change" in page.sections) == (change is not None)
    assert ("outside" in page.sections) == (which != "no mess")
    assert ("no map of MESS, ExDet or MOP" in page.sections["maps"]) == (which == "no mess")
    pictures = [str(attributes["src"]) for tag, attributes in page.found if tag == "img"]
    assert len(pictures) == 1 + (change is not None)
    assert all(source.startswith("data:image/png;base64,") for source in pictures)


DRAWERS = {"maps": draw_scenarios, "change": draw_change}


@pytest.mark.thorough
def test_drawing_twice_gives_the_same_bytes(projected: Path, tmp_path: Path) -> None:
    numbers = stored(projected).numbers
    for name, draw in DRAWERS.items():
        first, second = (draw(projected, numbers, tmp_path / f"{name}{k}.png", paper=SMALL) for k in range(2))
        assert first is not None
        assert second is not None
        assert first.read_bytes() == second.read_bytes()


def test_fields_span_a_grid(projected: Path, tmp_path: Path) -> None:
    projection = stored(projected)
    places = spanned(projection, projection.scenarios, 1.0)
    assert places is not None
    assert (places.rows, places.columns) == (2, 4)
    assert list(places.down) == ["MIROC6", EVIL_LAYER]
    assert list(places.across) == ["ssp126, 2050", "ssp126, 2090", "ssp585, 2050", "ssp585, 2090"]
    assert places.of == [divmod(k, 4) for k in range(8)]
    alone = stored(project(tmp_path / "out", scenarios=[{"run": str(k)} for k in range(5)]))
    assert spanned(alone, alone.scenarios, 1.0) is None, "one field is no grid"
    sparse = [GRID[0], GRID[7]]
    apart = stored(project(tmp_path / "sparse", scenarios=sparse))
    assert spanned(apart, apart.scenarios, 1.0) is None, "a grid that is mostly empty"


def test_stripes_are_only_where_the_model_extrapolates(tmp_path: Path) -> None:
    folder = project(tmp_path / "out", size=(60, 80), crs="EPSG:3035")
    case = stored(folder).scenarios[0]
    picture = read_picture(case.raster("suitability") or Path())
    novel = extrapolated_cells(case, picture, 512)
    assert novel is not None
    figure = Figure(figsize=(8, 6), dpi=100, facecolor="#888888")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    hatch(axes, novel, picture, (8, 6))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    drawn = np.asarray(canvas.buffer_rgba())[..., 0].astype(int)
    inside = np.kron(novel, np.ones((10, 10), bool))
    far = ~binary_dilation(inside, iterations=2)
    assert (drawn[far] == 0x88).all(), "nothing beside"
    deep = binary_erosion(inside, iterations=2)
    assert (drawn[deep] < 0x60).mean() > 0.1, "dark lines"
    assert (drawn[deep] > 0xB0).mean() > 0.1, "and light ones, so that they show on any colour"
    assert (abs(drawn[deep] - 0x88) < 12).mean() > 0.2, "and the map between them"


def test_resized_takes_the_nearest_place() -> None:
    values = np.arange(12).reshape(3, 4)
    assert resized(values, (3, 4)) is values
    assert resized(values, (6, 8))[::2, ::2].tolist() == values.tolist()
    assert resized(values, (1, 2)).tolist() == [[5, 7]]


def test_an_index_lists_every_species(projected: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(projected, folder)
    pages = make_pages([folder])
    assert pages[-1] == folder / "index.html"
    assert len(pages) == 3
    index = Elements(pages[-1].read_text(encoding="utf-8"))
    rows = {row[1]: row for row in index.rows[1:]}
    assert set(rows) == {"Virtualis montanus", EVIL}
    cases = stored(folder).scenarios
    changes = [float(case.tree("change")["net_percent"]) for case in cases]
    now = stored(folder).numbers["reference"]["rules"]["maxsss"]["km2"]
    shown = [text.replace("−", "-") for text in rows["Virtualis montanus"][2:]]
    assert shown[0] == f"{now:,.0f}"
    assert float(shown[1]) == pytest.approx(np.mean(changes), rel=0.01)
    assert float(shown[2]) == pytest.approx(min(changes), rel=0.01)
    assert float(shown[4]) == pytest.approx(100 * max(case.tree("outside")["share"] for case in cases), rel=0.01)
    links = [str(attributes["href"]) for tag, attributes in index.found if tag == "a"]
    assert links.pop(0) == "#main"
    assert sorted(set(map(unquote, links))) == sorted(page.name for page in pages[:2])
    pictures = [attributes for tag, attributes in index.found if tag == "img"]
    assert len(pictures) == 2
    assert all("2090" in str(attributes["alt"]) for attributes in pictures), "the scenario with the largest loss"


def test_a_single_projection_has_no_index(tmp_path: Path) -> None:
    folder = project(tmp_path / "out")
    answer = succeed("report", folder)
    assert "Virtualis_montanus.html" in answer.output
    assert not (folder / "index.html").exists()


def test_the_page_of_a_model_shows_its_scenarios(full: Path, tmp_path: Path) -> None:
    """Of a single run, beside its results; of one species of a batch, beside the whole run."""
    run = tmp_path / "run"
    shutil.copytree(full, run, ignore=shutil.ignore_patterns("scenarios"))
    results = read_results(run)
    without = Elements(make_page(results))
    assert "scenarios" not in without.sections
    assert "The panel of scenarios" not in without.scripts[-1]
    project(run / "scenarios", (results.title,))
    assert read_results(run / "scenarios").name == results.name
    pages = make_pages([run])
    assert pages == [results.page, run / "scenarios" / results.page.name]
    page = Elements(results.page.read_text(encoding="utf-8"))
    assert "A_2050" in page.sections["scenarios"]
    assert ("a", {"href": f"scenarios/{results.page.name}"}) in page.found
    assert sum(attributes.get("id") == "panel-data" for _, attributes in page.found) == 1
    ids = [attributes["id"] for _, attributes in page.found if "id" in attributes]
    assert len(ids) == len(set(ids)), "the panel and the live map are apart"
    batch = tmp_path / "batch"
    (run / "scenarios").rename(tmp_path / "moved")
    batch.mkdir()
    shutil.copytree(run, batch / results.name)
    (tmp_path / "moved").rename(batch / "scenarios")
    make_pages([batch])
    page = Elements((batch / results.name / results.page.name).read_text(encoding="utf-8"))
    assert ("a", {"href": f"../scenarios/{results.page.name}"}) in page.found
    assert (batch / "scenarios" / results.page.name).exists()
    assert (batch / "index.html").exists()


def test_a_model_of_several_targets_links_to_their_projections(full: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(full, run, ignore=shutil.ignore_patterns("scenarios"))
    project(run / "scenarios", ("meadow", EVIL))
    page = Elements(make_page(read_results(run)))
    assert "meadow" in page.sections["scenarios"]
    assert ("a", {"href": "scenarios/meadow.html"}) in page.found
    assert EVIL in page.sections["scenarios"]
    assert not [tag for tag, attributes in page.found if attributes.get("id") == "panel-data"]


@pytest.mark.thorough
def test_a_batch_with_scenarios_has_all_pages_as_report_makes_them(world: Path, tmp_path: Path) -> None:
    """Through the whole run: every species shows its scenarios, and the index leads to those of all."""
    out = tmp_path / "out"
    words = ("fit", world / "occurrences.csv", world / "layers", "--categorical", "landcover", "--features", "lq")
    succeed(*words, "--scenarios", f"warmer={world / 'warmer'}", "--dpi", 72, "-o", out)
    written = {path: path.read_bytes() for path in out.rglob("*.html")}
    assert {path.name for path in make_pages([out])} == {path.name for path in written}
    assert {path: path.read_bytes() for path in written} == written
    index = Elements((out / "index.html").read_text(encoding="utf-8"))
    assert ("a", {"href": "scenarios/index.html"}) in index.found
    found = find_projections(out / "scenarios")
    assert len(found) == 2
    for path in found:
        page = Elements((out / path.stem / f"{path.stem}.html").read_text(encoding="utf-8"))
        assert ("a", {"href": f"../scenarios/{path.stem}.html"}) in page.found
        assert "warmer" in page.sections["scenarios"]
        own = Elements(path.with_suffix(".html").read_text(encoding="utf-8"))
        assert {"maps", "table", "outside", "change", "shift", "mapping", "settings"} <= set(own.sections)
        data = json.loads(own.scripts[0])
        scenario = json.loads(path.read_text())["scenarios"][0]
        wanted = band(out / "scenarios", scenario["files"]["suitability"])
        shown = cells(data["entries"][1], "suitability", data)
        gone = np.ma.getmaskarray(wanted)
        assert np.array_equal(shown == data["nothing"], gone)
        assert np.abs(shown[~gone] / LEVELS - wanted[~gone]).max() <= 1 / LEVELS
        row = next(row for row in own.rows if row[:1] == ["warmer"])
        assert row[3] == f"{scenario['change']['gain']['km2']:,.0f}"


def test_shifts_are_enlarged_around_their_points(tmp_path: Path) -> None:
    folder = project(tmp_path / "out")
    picture = read_picture(folder / "A_2050" / "Virtualis_montanus.tif", 700)
    axes = own_axes(None)
    left, bottom, right, top = MapFrame.of(picture).limits
    points = [(left + 0.5 * (right - left), bottom + 0.5 * (top - bottom)), (left + 0.55 * (right - left), bottom)]
    assert not _enlarge(axes, picture, points), "they are far from each other"
    near = [(x, bottom + share * (top - bottom)) for (x, _), share in zip(points, (0.4, 0.42))]
    assert _enlarge(axes, picture, near)
    for (low, high), (first, last), places in zip(
        (axes.get_xlim(), axes.get_ylim()), ((left, right), (bottom, top)), zip(*near)
    ):
        assert (high - low) / (last - first) == pytest.approx(0.2), "four times as wide as the points are apart"
        assert first <= low <= min(places) <= max(places) <= high <= last
