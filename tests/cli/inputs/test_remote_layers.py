"""Layers from a server: a run gives what it gives on files, fetches little, and keeps the secrets of addresses."""

import zipfile
from pathlib import Path

import geopandas
import numpy as np
import pytest
import rasterio
import yaml
from affine import Affine
from ranges import Site, serve
from rasterio.shutil import copy
from shapely.geometry import box
from terminal import fail, model_answer, process, read, sdm, succeed

USER, TOKEN = "bob:pass-word", "hush-hush"
SECRETS = (b"pass-word", b"hush-hush", b"bob:")
PLAIN = ("--fc", "lq", "--no-curves", "--dpi", 72)


@pytest.fixture(scope="module")
def site(world):
    """The world's folder on a server."""
    with serve(world.folder) as served:
        yield served


def addresses(site: Site, folder: str = "layers", user: str = USER, token: str = TOKEN) -> list[str]:
    names = sorted(path.name for path in (site.folder / folder).glob("*.tif") if path.stem != "landcover")
    return [site.url(f"{folder}/{name}", user, f"?token={token}&v=1.0/x") for name in names]


def leaks(folder: Path) -> list[str]:
    """Files in which a secret can be read, model files and archives unpacked."""
    found = []
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            if zipfile.is_zipfile(path):
                with zipfile.ZipFile(path) as archive:
                    content += b"".join(archive.read(name) for name in archive.namelist())
            found += [path.name for secret in SECRETS if secret in content]
    return found


@pytest.mark.thorough
def test_a_run_on_addresses_is_that_on_files_and_keeps_secrets(world, site, tmp_path: Path) -> None:
    local = [world.layers / Path(place.partition("?")[0]).name for place in addresses(site)]
    succeed("fit", world.records, *local, *PLAIN, "-o", tmp_path / "files")
    future = f"later={addresses(site, 'warmer')[0].replace('/warmer/', '/layers/')}"
    words = ("fit", world.records, *addresses(site), *PLAIN, "-o", tmp_path / "remote", "--verbose")
    done = process(*words)
    assert done.returncode == 0, done.stderr
    assert not [secret for secret in SECRETS if secret.decode() in done.stdout + done.stderr]
    assert leaks(tmp_path / "remote") == []
    (name,) = [path.stem for path in (tmp_path / "files").glob("*.npz")]
    for kept in (f"{name}.tif", f"{name}.npz"):
        assert (tmp_path / "remote" / kept).read_bytes() == (tmp_path / "files" / kept).read_bytes()
    assert "http://***@127.0.0.1" in (tmp_path / "remote" / "command.txt").read_text()
    # what was not stored must be given again
    head = (tmp_path / "remote" / "run.yaml").read_text()
    assert "# Secrets of addresses are not stored" in head
    assert yaml.safe_load(head)["layers"]["files"][0].endswith("?token=***&v=***")
    said = fail("fit", tmp_path / "remote" / "run.yaml", "-o", tmp_path / "again", code=2)
    assert "was not stored: give the layers again" in said
    succeed("fit", tmp_path / "remote" / "run.yaml", *addresses(site), "-o", tmp_path / "again")
    assert (tmp_path / "again" / f"{name}.npz").read_bytes() == (tmp_path / "files" / f"{name}.npz").read_bytes()
    # a projection to one address that lacks variables: neither its name nor the error has a secret
    for way in (future, future.removeprefix("later=")):
        broken = sdm(
            "fit", world.records, *addresses(site), *PLAIN, "--projections", way, "-o", tmp_path / "no", "--json"
        )
        assert broken.exit_code == 1
        assert "does not exist" in broken.stderr
        assert not [secret for secret in SECRETS if secret.decode() in broken.output]


@pytest.mark.thorough
def test_secrets_in_the_environment_repeat_a_run(world, site, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("SITE_TOKEN", TOKEN)
    places = addresses(site, user="", token="${SITE_TOKEN}")  # noqa: S106 - the name of a variable
    places = [place.replace("&v=1.0/x", "") for place in places]
    answer = model_answer("fit", world.records, *places, *PLAIN, "--no-report", "-o", tmp_path / "one")
    assert leaks(tmp_path / "one") == []
    assert yaml.safe_load((tmp_path / "one" / "run.yaml").read_text())["layers"]["files"] == places
    again = model_answer("fit", tmp_path / "one" / "run.yaml", "-o", tmp_path / "two")
    assert again["gain"] == answer["gain"]
    assert any(TOKEN in one.path for one in site.asked)
    monkeypatch.delenv("SITE_TOKEN")
    said = fail("fit", tmp_path / "one" / "run.yaml", "-o", tmp_path / "three", code=2)
    assert "needs the environment variable SITE_TOKEN" in said


@pytest.mark.parametrize("words", [("--debug",), ("--json",), ()])
def test_errors_show_no_secret(world, site, tmp_path: Path, words, capfd: pytest.CaptureFixture[str]) -> None:
    place = site.url("layers/none.tif", USER, f"?token={TOKEN}")
    done = sdm("fit", world.records, place, "-o", tmp_path / "no", *words)
    assert done.exit_code == 1
    assert "the file does not exist on the server" in done.stderr
    said = done.stdout + done.stderr + "".join(capfd.readouterr())  # of libraries too
    assert not [secret for secret in SECRETS if secret.decode() in said]
    strange = (
        f"--classes={place}",
        f"--bias={place}",
        f"--study-area={place}",
        f"--align={place}",
    )
    for option in strange if words == ("--debug",) else ():  # which says most
        broken = sdm("fit", world.records, world.layers, option, "-o", tmp_path / "no", *words)
        assert broken.exit_code in (1, 2)
        assert "Traceback" in broken.stderr or broken.exit_code == 2
        said = broken.stdout + broken.stderr + "".join(capfd.readouterr())
        assert not [secret for secret in SECRETS if secret.decode() in said], option


@pytest.mark.thorough
def test_a_small_study_of_large_layers_fetches_little(world, tmp_path: Path) -> None:
    """A fit and a prediction in a study area of 1 % of layers of 1,024 × 1,024 cells."""
    folder, rng = tmp_path / "site", np.random.default_rng(5)
    folder.mkdir()
    profile = {"driver": "GTiff", "width": 1024, "height": 1024, "count": 1, "dtype": "float32", "crs": "EPSG:4326"}
    transform = Affine(0.02, 0, 0, 0, -0.02, 20.48)
    for name in ("heat", "rain"):
        with rasterio.open(tmp_path / "plain.tif", "w", **profile, transform=transform) as data:
            data.write(rng.normal(size=(1024, 1024)).astype("float32"), 1)
        copy(tmp_path / "plain.tif", folder / f"{name}.tif", driver="COG", blocksize=128)
    area = tmp_path / "area.gpkg"
    geopandas.GeoDataFrame(geometry=[box(5.2, 5.2, 7.2, 7.2)], crs="EPSG:4326").to_file(area)
    records = tmp_path / "records.csv"
    points = "\n".join(f"owl,{x:.3f},{y:.3f}" for x, y in rng.uniform(5.3, 7.1, (40, 2)))
    records.write_text(f"species,longitude,latitude\n{points}\n")
    whole = sum(path.stat().st_size for path in folder.glob("*.tif"))
    with serve(folder) as site:
        words = ("--study-area", area, *PLAIN, "--no-report", "--no-map-picture", "-o")
        layers = [site.url(f"{name}.tif") for name in ("heat", "rain")]
        succeed("fit", records, *layers, *words, tmp_path / "remote")
        assert 0 < site.sent < whole / 30
        before = site.sent
        succeed(
            *("predict", tmp_path / "remote" / "owl.npz", *layers, "--study-area", area), "-o", tmp_path / "map.tif"
        )
        assert site.sent - before < whole / 30
    succeed("fit", records, folder, *words, tmp_path / "files")
    np.testing.assert_array_equal(read(tmp_path / "map.tif"), read(tmp_path / "files" / "owl.tif"))
    assert (tmp_path / "remote" / "owl.npz").read_bytes() == (tmp_path / "files" / "owl.npz").read_bytes()
