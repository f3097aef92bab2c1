"""Thinning: a million records kept apart by a distance, spread evenly or clustered, with and without uncertainty."""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.tools.harness import best_of, once, peak_gigabytes, save, table
from sdm.data.records.thinning import thin_by_distance

N = 1_000_000


def records(kind: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return longitude and latitude of a million records over South America."""
    rng = np.random.default_rng(1)
    if kind == "even":
        return rng.uniform(-80, -35, N), rng.uniform(-35, 12, N)
    towns = rng.uniform((-80, -35), (-35, 12), (500, 2))
    lon, lat = (towns[rng.integers(0, 500, N)] + rng.normal(0, 0.3, (N, 2))).T
    return lon, lat


def distances() -> list[dict[str, Any]]:
    """Time the thinning of a million records to several distances, ten tries each."""
    doubt = np.random.default_rng(2).lognormal(5, 2, N)
    thin_by_distance(np.zeros(2), np.zeros(2), 1.0, uncertainty=np.ones(2))  # compiles
    rows = []
    for kind in ("even", "clustered"):
        lon, lat = records(kind)
        for km in (1.0, 10.0, 100.0):
            for uncertainty in (None, doubt):
                seconds, keep = once(
                    lambda a=lon, b=lat, c=km, d=uncertainty: thin_by_distance(a, b, c, tries=10, uncertainty=d)  # type: ignore[misc]
                )
                rows.append(
                    {
                        "records": kind,
                        "km": km,
                        "uncertainty": "no" if uncertainty is None else "yes",
                        "kept": int(keep.sum()),
                        "seconds": seconds,
                    }
                )
    return rows


def tries() -> list[dict[str, Any]]:
    """How much more tries keep."""
    lon, lat = records("clustered")
    rows = []
    for count in (1, 10, 30):
        seconds, keep = once(lambda n=count: thin_by_distance(lon[:100_000], lat[:100_000], 5.0, tries=n))  # type: ignore[misc]
        rows.append({"records": 100_000, "km": 5.0, "tries": count, "kept": int(keep.sum()), "seconds": seconds})
    return rows


def against_pairs() -> list[dict[str, Any]]:
    """The same rule by comparing all pairs, on as many records as that takes."""
    from sdm.data.crs import EARTH_KM

    lon, lat = (part[:3000] for part in records("clustered"))

    def pairs() -> int:
        phi, turn = np.deg2rad(lat), np.deg2rad(lon)
        left = list(np.random.default_rng(1).permutation(len(lon)))
        count = 0
        while left:
            i, rest = left[0], np.array(left[1:], dtype=np.int64)
            half = np.sin((phi[rest] - phi[i]) / 2) ** 2
            half += np.cos(phi[rest]) * np.cos(phi[i]) * np.sin((turn[rest] - turn[i]) / 2) ** 2
            left = list(rest[2 * EARTH_KM * np.arcsin(np.sqrt(half)) >= 5])
            count += 1
        return count

    slow, kept = once(pairs)
    fast, keep = best_of(lambda: thin_by_distance(lon, lat, 5.0, tries=1))
    return [
        {"method": "boxes", "records": len(lon), "kept": int(keep.sum()), "seconds": fast, "times faster": slow / fast},
        {"method": "all pairs", "records": len(lon), "kept": kept, "seconds": slow, "times faster": 1.0},
    ]


def main() -> None:
    began = time.perf_counter()
    results: dict[str, Any] = {}
    results["a million records"] = distances()
    table("A million records, ten tries", results["a million records"])
    results["tries"] = tries()
    table("The largest set of some tries", results["tries"])
    results["against all pairs"] = against_pairs()
    table("One try, against comparing all pairs", results["against all pairs"])
    results["peak GB"] = peak_gigabytes()
    save("thinning", results)
    print(f"thinning: {time.perf_counter() - began:.0f} s in all")


if __name__ == "__main__":
    main()
