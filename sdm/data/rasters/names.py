"""Names of layers: rename by pattern, and match names in other spellings.

A model has named variables; the layers of another time or place may have other spellings of these names. Only names are
compared, one to one, and matches are always reported. Three kinds of spellings are equal:

- names that differ in case, zero padding or separators: ``bio_1``, ``BIO01``;
- names that differ in the parts that providers of climate layers add to the variable (collection, resolution, period,
  climate model, scenario, version): ``wc2.1_10m_bio_1``, ``CHELSA_bio1_1981-2010_V.2.1``, ``bio01``;
- the name of a band in earlier versions of this program, after its file.

Ambiguous names are refused with the candidates.
"""

import difflib
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache

from sdm.errors import SdmError, VariableError

Key = tuple[str, ...]

_SHOWN = 40  # names that a message lists
_PIECE = re.compile(r"[0-9]+|[\s_.\-]+|[^0-9\s_.\-]+")
_MODELS = (
    "access-cm2", "access-esm1-5", "access1-0", "access1-3", "awi-cm-1-1-mr", "awi-esm-1-1-lr", "bcc-csm1-1",
    "bcc-csm1-1-m", "bcc-csm2-mr", "bcc-esm1", "bnu-esm", "cams-csm1-0", "canesm2", "canesm5", "canesm5-canoe", "ccsm4",
    "cesm1-bgc", "cesm1-cam5", "cesm2", "cesm2-waccm", "cmcc-ceam", "cmcc-cesm", "cmcc-cm", "cmcc-cm2-sr5", "cmcc-cms",
    "cmcc-esm2", "cnrm-cm5", "cnrm-cm6-1", "cnrm-cm6-1-hr", "cnrm-esm2-1", "csiro-mk3-6-0", "ec-earth", "ec-earth3",
    "ec-earth3-veg", "ec-earth3-veg-lr", "fgoals-f3-l", "fgoals-g2", "fgoals-g3", "fio-esm", "fio-esm-2-0", "gfdl-cm3",
    "gfdl-esm2g", "gfdl-esm2m", "gfdl-esm4", "giss-e2-1-g", "giss-e2-1-h", "giss-e2-h", "giss-e2-r", "hadgem2-ao",
    "hadgem2-cc", "hadgem2-es", "hadgem3-gc31-ll", "hadgem3-gc31-mm", "iitm-esm", "inm-cm4-8", "inm-cm5-0", "inmcm4",
    "ipsl-cm5a-lr", "ipsl-cm5a-mr", "ipsl-cm6a-lr", "kace-1-0-g", "mcm-ua-1-0", "miroc-es2l", "miroc-esm",
    "miroc-esm-chem", "miroc5", "miroc6", "mpi-esm-lr", "mpi-esm-mr", "mpi-esm1-2-hr", "mpi-esm1-2-lr", "mri-cgcm3",
    "mri-esm1", "mri-esm2-0", "nesm3", "noresm1-m", "noresm1-me", "noresm2-lm", "noresm2-mm", "taiesm1", "ukesm1-0-ll",
)  # fmt: skip
"""Climate models of CMIP5 and CMIP6, as in file names of WorldClim and CHELSA."""
_ADDED = "collection, resolution, period, climate model, scenario, version"
_YEAR = r"(?:1[6-9]|20|21)\d\d"
_SOURCE = re.compile(r"(?<![^\W_])(?:wc\d|worldclim|chelsa|v\.?\d+(?:\.\d+)+)(?![^\W_])")
_SAME_WORD = {"bioc": "bio"}  # WorldClim's variable bio has the name bioc in files of future periods


@cache
def _providers() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns of parts added by providers, and of a year; compiled at the first use, which takes 10 ms."""
    parts = (
        r"wc\d(?:[._]\d)?[_\-. ](?:10m|5m|2[._]5m|30s)",
        r"wc\d\.\d|worldclim(?:[_\-. ]?v?\d(?:\.\d)?)?|chelsa(?:[_\-. ]cmip[56])?|cmip[56]",
        r"v\.?\d+(?:\.\d+)+",
        rf"{_YEAR}[\-_]{_YEAR}",
        r"ssp\d*(?:[._]\d)?|rcp\d*(?:[._]\d)?|present|current|historical|baseline|future|past",
        *(re.escape(model).replace(r"\-", r"[\-_.]") for model in sorted(_MODELS, key=len, reverse=True)),
    )
    added, year = (re.compile(rf"(?<![^\W_])(?:{text})(?![^\W_])") for text in ("|".join(parts), _YEAR))
    return added, year


def name_pieces(name: str) -> Key:
    """Return the words and numbers of a name, without case, zero padding and separators.

    A point between digits is a decimal point, and a minus at the start or after a separator is a sign: numbers that
    differ in these are different numbers.

    Examples
    --------
    >>> name_pieces("BIO_01"), name_pieces("slope-0.05"), name_pieces("mean temp")
    (('bio', '1'), ('slope', '0', '.05'), ('mean', 'temp'))
    """
    pieces: list[str] = []
    gap = ""
    for piece in _PIECE.findall(unicodedata.normalize("NFC", name).casefold()):
        if _is_gap(piece):
            gap = piece
            continue
        if _is_number(piece) and gap == "." and pieces and _is_number(pieces[-1]):
            piece = f".{piece}"
        elif _is_number(piece):
            sign = "-" if gap.endswith("-") and (len(gap) > 1 or not pieces) else ""
            piece = sign + (piece.lstrip("0") or "0")
        pieces.append(piece)
        gap = ""
    return tuple(pieces)


def _is_gap(piece: str) -> bool:
    return piece[0] in "_.-" or piece[0].isspace()


def _is_number(piece: str) -> bool:
    return piece[-1] in "0123456789"


def spelling_key(name: str) -> Key:
    """Return the common key of all spellings of a name that differ in case, zero padding or separators."""
    return _joined(name_pieces(name))


def variable_key(name: str) -> Key:
    """Return the key of a name without the parts that providers of climate layers add; empty if no word is left.

    Examples
    --------
    >>> variable_key("wc2.1_10m_bio_1"), variable_key("CHELSA_bio1_2041-2070_gfdl-esm4_ssp126_V.2.1")
    (('bio', '1'), ('bio', '1'))
    >>> variable_key("reflectance_1640")  # four digits alone need not be a year
    ('reflectance', '1640')
    """
    text = unicodedata.normalize("NFC", name).casefold()
    added, year = _providers()
    rest = added.sub(" ", text)
    if rest != text:
        rest = year.sub(" ", rest)
    pieces = _joined(tuple(_SAME_WORD.get(piece, piece) for piece in name_pieces(rest)))
    return () if all(_is_number(piece) for piece in pieces) else pieces


def one_source(name: str, other: str) -> bool:
    """Whether two names may be of one collection: WorldClim and CHELSA compute the same variables differently."""
    one, two = (
        {part.strip("_-. ") for part in _SOURCE.findall(unicodedata.normalize("NFC", text).casefold())}
        for text in (name, other)
    )
    return not one or not two or one == two


def _joined(pieces: Key) -> Key:
    """Join adjacent words: only a separator was between them."""
    joined: list[str] = []
    for piece in pieces:
        if joined and not _is_number(joined[-1]) and not _is_number(piece):
            joined[-1] += piece
        else:
            joined.append(piece)
    return tuple(joined)


class NameMatch:
    """Required names with the matching layers, and notices about them."""

    def __init__(self, required: Sequence[str], available: Sequence[str], noun: str, error: type[SdmError]) -> None:
        self.required, self.available, self.noun, self.error = required, available, noun, error
        self.matches = {name: name for name in required if name in available}
        self.notices: list[str] = []

    @property
    def missing(self) -> list[str]:
        """Names without a matching layer so far."""
        return [name for name in self.required if name not in self.matches]

    def pair(self, key_of: Callable[[str], Key], how: str) -> None:
        """Match missing names with layers of the same key; raise if there are several."""
        if not self.missing:
            return
        by_key: dict[Key, list[str]] = {}
        for name in dict.fromkeys(self.available):
            by_key.setdefault(key_of(name), []).append(name)
        required_keys = [key_of(name) for name in self.required]
        pairs: dict[str, str] = {}
        for name in self.missing:
            key = key_of(name)
            same = by_key.get(key, []) if key and required_keys.count(key) == 1 else []
            candidates = [other for other in same if one_source(name, other)]
            if len(candidates) > 1:
                either = " or ".join(f"'{candidate}'" for candidate in candidates[:_SHOWN])
                raise self.error(
                    f"{self.noun} '{name}' does not exist, and several may be meant ({either}): remove all but one, or "
                    f"map its name, as in --rename '{candidates[0]}={name}'"
                )
            if candidates and candidates[0] not in self.matches.values():
                pairs[name] = candidates[0]
        if pairs:
            listed = ", ".join(f"{layer} as {name}" for name, layer in pairs.items())
            self.notices.append(f"{counted(len(pairs), self.noun)} matched although {how}: {listed}")
            self.matches |= pairs


def match_names(
    required: Sequence[str],
    available: Sequence[str],
    *,
    formerly: Mapping[str, str] | None = None,
    noun: str = "layer",
    error: type[SdmError] = VariableError,
) -> NameMatch:
    """Match names with available layers, one to one and completely; raise if that is impossible or ambiguous.

    Parameters
    ----------
    required
        Names of a model's variables, or of layers in an option.
    available
        Names of the available layers.
    formerly
        Former names of available layers, by their names.
    noun, error
        Noun of a name in messages, and the class of errors.

    Examples
    --------
    >>> match_names(["bio_1", "elev"], ["BIO01", "BIO02", "elev"]).matches
    {'bio_1': 'BIO01', 'elev': 'elev'}
    """
    search = NameMatch(required, available, noun, error)
    earlier = formerly or {}
    search.pair(lambda name: (earlier.get(name, name),), "an earlier version named layers after files")
    search.pair(spelling_key, "names differ in case, zero padding or separators")
    search.pair(variable_key, f"names differ in what goes with a variable ({_ADDED})")
    if search.missing:
        raise error(_not_found(search.missing, available, [*search.matches.values()], noun))
    search.matches = {name: search.matches[name] for name in required}
    return search


def names_meant(names: Sequence[str], available: Sequence[str]) -> list[str]:
    """Return the `available` names that match any of the names."""
    meant: list[str] = []
    for name in names:
        with suppress(SdmError):
            meant += match_names([name], available).matches.values()
    return meant


def counted(number: int, noun: str) -> str:
    """Return a number of things in words, as the beginning of a sentence."""
    return f"{number:,} {noun}s are" if number != 1 else f"1 {noun} is"


def _not_found(missing: Sequence[str], names: Sequence[str], used: Sequence[str], noun: str) -> str:
    """Return the message about a missing name, with the nearest name, and a rule that would match all names."""
    name, more = missing[0], len(missing) - 1
    near = difflib.get_close_matches(name, list(names), n=1)
    rule = _common_rule(missing, [other for other in names if other not in used])
    hint = f"did you mean '{near[0]}'? " if near and not rule else ""
    if rule:
        hint = f"if these layers are the same variables, use --rename '{rule}'. "
    others = f" (nor do {more:,} more)" if more > 1 else f" (nor does '{missing[1]}')" if more else ""
    listed = ", ".join(sorted(names)[:_SHOWN]) + (f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else "")
    return f"{noun} '{name}' does not exist{others}: {hint}{'The' if hint else 'the'} layers are {listed}"


def _common_rule(missing: Sequence[str], free: Sequence[str]) -> str | None:
    """Return the only rule of renaming that matches all missing names, if one common part differs."""
    before, after = _common_ends(missing)
    if len(missing) < 2:
        return None
    parts = [name[len(before) : len(name) - len(after)] for name in missing]
    keys = {spelling_key(name) for name in free}
    rules = set()
    for name in free:
        for place in re.finditer(re.escape(parts[0].lstrip("0") or parts[0]), name):
            head, tail = name[: place.start()].rstrip("0"), name[place.end() :]
            if all(spelling_key(f"{head}{part}{tail}") in keys for part in parts):
                rules.add(f"{head}{{name}}{tail}={before}{{name}}{after}")
    return rules.pop() if len(rules) == 1 else None


def _common_ends(names: Sequence[str]) -> tuple[str, str]:
    """Return the common beginning and end of names, cut at words and numbers, with a remainder in each."""
    split = [_PIECE.findall(name) for name in names]
    most = min(len(pieces) for pieces in split) - 1
    head = next((k for k in range(most) if len({pieces[k] for pieces in split}) > 1), most)
    most -= head
    tail = next((k for k in range(most) if len({pieces[-1 - k] for pieces in split}) > 1), most)
    return "".join(split[0][:head]), "".join(split[0][len(split[0]) - tail :])


def read_renames(value: object) -> object:
    """Read rules of renaming: a mapping from patterns to names, or words such as ``wc2.1_10m_bio_{n}=bio{n}``; raise
    ValueError for an invalid one."""
    parts = [value] if isinstance(value, str) else value
    if isinstance(parts, list | tuple):
        pairs = [str(part).split("=") for part in parts]
        if wrong := [part for part, pair in zip(parts, pairs) if len(pair) != 2]:
            raise ValueError(f"a pattern, '=' and a name, such as 'wc2.1_10m_bio_{{n}}=bio{{n}}', not '{wrong[0]}'")
        patterns = [pair[0].strip() for pair in pairs]
        if twice := [pattern for pattern in patterns if patterns.count(pattern) > 1]:
            raise ValueError(f"different patterns, got '{twice[0]}' twice")
        parts = {pattern: pair[1].strip() for pattern, pair in zip(patterns, pairs)}
    if isinstance(parts, dict):
        for pattern, name in parts.items():
            _rule(str(pattern), str(name))
    return parts


def _rule(pattern: str, name: str) -> re.Pattern[str]:
    """Return a pattern as a regular expression; raise ValueError if it does not fit the new name."""
    fields = re.findall(r"\{(\w+)\}", pattern)
    if not pattern or not name:
        raise ValueError("a pattern and a name, got an empty one")
    for text in (pattern, name):
        if set("{}") & set(re.sub(r"\{[^\W\d]\w*\}", "", text)):
            raise ValueError(f"fields such as {{n}}, in braces that are closed, got '{text}'")
    if len(set(fields)) < len(fields):
        raise ValueError(f"each field once, got '{pattern}'")
    if unknown := [word for word in re.findall(r"\{(\w+)\}", name) if word not in fields]:
        raise ValueError(f"fields of the pattern '{pattern}' in the new name, got {{{unknown[0]}}}")
    parts = re.split(r"\{(\w+)\}", pattern)
    return re.compile("".join(f"(?P<{part}>.+?)" if k % 2 else re.escape(part) for k, part in enumerate(parts)))


def rename_layers(names: Sequence[str], rules: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Rename layers by the first rule whose pattern matches the complete name; fields are as short as possible.

    Return all names, unchanged without a rule, and notices.

    Examples
    --------
    >>> rename_layers(["wc2.1_10m_bio_1", "elev"], {"wc2.1_10m_bio_{n}": "bio{n}"})[0]
    ['bio1', 'elev']
    """
    new, used = list(names), {pattern: list[int]() for pattern in rules}
    compiled = {pattern: _rule(pattern, name) for pattern, name in rules.items()}
    for k, name in enumerate(names):
        for pattern, expression in compiled.items():
            if fits := expression.fullmatch(name):
                new[k] = re.sub(r"\{(\w+)\}", lambda match, fits=fits: fits[match[1]], rules[pattern])  # type: ignore[misc]
                used[pattern].append(k)
                break
    notices = []
    for pattern, places in used.items():
        rule = f"--rename '{pattern}={rules[pattern]}'"
        if places:
            listed = ", ".join(f"{names[k]} to {new[k]}" for k in places[:_SHOWN])
            notices.append(f"{counted(len(places), 'layer')} renamed by {rule}: {listed}")
        else:
            listed = ", ".join(names[:_SHOWN])
            notices.append(f"{rule} matches none of the {len(names):,} layers: {listed}")
    return new, notices
