"""Addresses: called by their files, and shown without their secrets, in whatever text they stand."""

import signal
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdm.errors import DataError, hide_address, hide_secrets, name_list
from sdm.storage.addresses import gdal_place, is_remote, place_name, place_stem, place_suffix


@pytest.mark.parametrize(
    ("place", "remote", "name", "gdal"),
    [
        ("https://host/a/bio1.tif", True, "bio1.tif", "/vsicurl/https://host/a/bio1.tif"),
        ("https://u:p@host/bio1.tif?x=a.b/c&y=1", True, "bio1.tif", "/vsicurl/https://u:p@host/bio1.tif?x=a.b/c&y=1"),
        ("s3://bucket/key/bio1.tif", True, "bio1.tif", "/vsis3/bucket/key/bio1.tif"),
        ("gs://bucket/bio1.tif", True, "bio1.tif", "/vsigs/bucket/bio1.tif"),
        ("/vsis3/bucket/bio1.tif", True, "bio1.tif", "/vsis3/bucket/bio1.tif"),
        ("/vsizip//vsicurl/https://h/a.zip/bio1.tif", True, "bio1.tif", "/vsizip//vsicurl/https://h/a.zip/bio1.tif"),
        ("/vsicurl?max_retry=2&url=https%3A%2F%2Fh%2Fbio1.tif", True, "bio1.tif", None),
        ('NETCDF:"/vsicurl/https://h/a.nc?t=1":tas', True, "a.nc:tas", None),
        ("layers/bio1.tif", False, "bio1.tif", "layers/bio1.tif"),
        ("/vsizip/a.zip/bio1.tif", False, "bio1.tif", "/vsizip/a.zip/bio1.tif"),
        ("what?.tif", False, "what?.tif", "what?.tif"),
    ],
)
def test_names_and_places(place, remote, name, gdal):
    assert is_remote(place) == remote
    assert place_name(place) == name
    assert gdal_place(place) == (gdal or place)


def test_stem_and_suffix():
    assert place_stem("https://h/CHELSA_bio1_V.2.1.tif?sig=a.b") == "CHELSA_bio1_V.2.1"
    assert place_suffix("https://h/x.TIF?file=y.csv") == ".tif"


secrets = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=6, max_size=12).map(lambda s: f"Zq{s}")
keys = st.sampled_from(["token", "X-Amz-Signature", "X-Amz-Credential", "sig", "key", "k"])


@given(secrets, secrets, secrets, keys, st.sampled_from(["https://", "ftp://", "/vsicurl/http://", "https:/"]))
def test_no_secret_is_shown_in_any_text(user, password, token, key, scheme):
    address = f"{scheme}{user}:{password}@host/x.tif?v=1&{key}={token}"
    for text in (
        address,
        f"layer '{address}' is bad: did you mean 'y'? No",
        f'NETCDF:"{address}":tas',
        f"a={address}.",
    ):
        for shown in (hide_secrets(text), hide_address(text), str(DataError(text))):
            assert not [word for word in (user, password, token) if word in shown]
            assert "host/x.tif" in shown


@given(st.text(st.characters(codec="utf-8", exclude_characters=":/"), max_size=40))
def test_other_text_stays_as_it_is(text):
    assert hide_secrets(text) == text


def test_names_of_variables_are_no_secrets():
    place = "https://${USER}:${PW}@host/x.tif?token=${TOKEN}"
    assert hide_secrets(place) == place


@pytest.fixture
def bounded() -> Iterator[None]:
    """Half a minute of processor time, which is a thousand times what linear work needs."""

    def stop(*_: object) -> None:
        raise AssertionError("the cost grows with the square of the length")

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, 30)
    yield
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)


@pytest.mark.parametrize("unit", ["a", "a+", "a1", "http:", "http:/a", "/vsi", "://", "http://h?${a"])
@pytest.mark.usefixtures("bounded")
def test_long_texts_cost_their_length(unit):
    """Every message is searched for secrets: one with a long word must not stop the program."""
    text = unit * (400_000 // len(unit))
    assert hide_secrets(f"{text} https://u:p@host/x").endswith("https://***@host/x")


@pytest.mark.usefixtures("bounded")
def test_long_addresses_cost_their_length():
    assert place_name("/vsicurl?&" * 30_000) == "vsicurl"
    assert place_name("/vsicurl?a=1&url=https%3A%2F%2Fh%2Fbio1.tif") == "bio1.tif"


def test_schemes_may_follow_other_letters():
    assert (
        hide_secrets("x1https://u:p@h/x?a=b c:/u:p@h s3://k:s@b/x") == "x1https://***@h/x?a=*** c:/u:p@h s3://***@b/x"
    )


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, ""), (1, "n0"), (3, "n0, n1, n2"), (4, "n0, n1, n2, … (1 more)"), (3003, "n0, n1, n2, … (3,000 more)")],
)
def test_a_list_of_names_is_cut(count, text):
    assert name_list((f"n{k}" for k in range(count)), 3) == text
