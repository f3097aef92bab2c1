"""Classes of values behave as those of the standard library, of which the same classes are made."""

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field
from typing import Any, ClassVar

import pytest

from sdm.maps.gis.styles import Break
from sdm.values import dataclass as quick

KINDS = (dataclasses.dataclass, quick)
WAYS: tuple[dict[str, bool], ...] = ({}, {"frozen": True}, {"frozen": True, "kw_only": True})


def a_point(dataclass: Callable[..., Any], **ways: bool) -> Any:
    @dataclass(**ways)
    class Point:
        """A point."""

        x: int
        y: float = 2.0
        tags: list[str] = field(default_factory=list, hash=False)
        note: str = field(default="", repr=False, compare=False)
        length: float = field(init=False, default=0.0)
        count: ClassVar[int] = 3

        def __post_init__(self) -> None:
            object.__setattr__(self, "length", abs(self.x) + abs(self.y))

    return Point


@pytest.mark.parametrize("ways", WAYS, ids=str)
def test_objects_are_as_those_of_the_standard_library(ways: dict[str, bool]) -> None:
    theirs, ours = (a_point(kind, **ways) for kind in KINDS)
    assert inspect.signature(ours) == inspect.signature(theirs)
    assert [f.name for f in dataclasses.fields(ours)] == [f.name for f in dataclasses.fields(theirs)]
    assert ours.__match_args__ == theirs.__match_args__
    for values in ({"x": 1}, {"x": -1, "y": 5.0, "tags": ["a"], "note": "b"}):
        one, two = theirs(**values), ours(**values)
        assert repr(two) == repr(one)
        assert dataclasses.asdict(two) == dataclasses.asdict(one)
        assert two == ours(**values)
        assert two == dataclasses.replace(two, note="other")
        assert two != dataclasses.replace(two, x=7)
        assert two != one
        assert two != 3
        assert copy.deepcopy(two) == two
        if "frozen" in ways:
            assert hash(two) == hash(one) == hash(dataclasses.replace(two, note="other", tags=["c"]))
    assert ours(x=1).tags is not ours(x=1).tags
    assert inspect.signature(ours) == inspect.signature(theirs), "the same once there are objects"


def same_refusal(do: Callable[[Any], Any], *items: Any) -> None:
    refusals = []
    for item in items:
        with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever the standard library raises
            do(item)
        refusals.append((type(caught.value), str(caught.value).rpartition(".")[2]))
    assert refusals[0] == refusals[1]


@pytest.mark.parametrize("ways", WAYS, ids=str)
def test_wrong_values_are_refused_in_the_same_words(ways: dict[str, bool]) -> None:
    classes = [a_point(kind, **ways) for kind in KINDS]
    same_refusal(lambda cls: cls(), *classes)
    same_refusal(lambda cls: cls(x=1, z=2), *classes)
    same_refusal(lambda cls: cls(1, 2, [], "", 5), *classes)
    if "kw_only" in ways:
        same_refusal(lambda cls: cls(1), *classes)
    if "frozen" not in ways:
        same_refusal(hash, *(cls(x=1) for cls in classes))


def test_frozen_objects_cannot_be_changed() -> None:
    points = [a_point(kind, frozen=True)(1) for kind in KINDS]
    same_refusal(lambda item: setattr(item, "x", 2), *points)
    same_refusal(lambda item: setattr(item, "other", 2), *points)
    same_refusal(lambda item: delattr(item, "x"), *points)
    assert points[1].x == 1


def test_objects_that_are_not_frozen_can() -> None:
    point = a_point(quick)(1)
    point.x, point.other = 2, 3
    assert (point.x, point.other) == (2, 3)
    assert point != a_point(quick)(2), "another class, though of the same name"


@pytest.mark.parametrize("dataclass", KINDS)
def test_classes_inherit_fields_and_what_they_define_themselves(dataclass: Callable[..., Any]) -> None:
    @dataclass(frozen=True)
    class Base:
        a: int
        b: int = 2

    @dataclass(frozen=True)
    class Child(Base):
        c: int = 3

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Child)

        def __hash__(self) -> int:
            return 5

        def __repr__(self) -> str:
            return "child"

    class Plain(Base):
        def __init__(self) -> None:
            super().__init__(7)
            self.more = 8

    assert Child(1) == Child(9)
    assert hash(Child(1)) == 5
    assert repr(Child(1)) == "child"
    assert (Child(1, 4).b, Child(1).c) == (4, 3)
    assert "c" in inspect.signature(Child).parameters
    assert (Plain().a, Plain().b, Plain().more) == (7, 2, 8)
    assert not inspect.signature(Plain).parameters
    assert inspect.signature(type("Same", (Base,), {})) == inspect.signature(Base)
    plain = Plain()
    plain.more = 9
    with pytest.raises(FrozenInstanceError):
        plain.a = 1
    assert Base(1) != Plain()


@pytest.mark.parametrize("dataclass", KINDS)
def test_values_may_be_none_one_or_hold_each_other(dataclass: Callable[..., Any]) -> None:
    @dataclass(frozen=True)
    class Empty:
        pass

    @dataclass
    class Node:
        next: Any

    node = Node(None)
    node.next = node
    assert repr(node).endswith("Node(next=...)")
    assert (Empty() == Empty(), hash(Empty()), repr(Empty())[-7:]) == (True, hash(()), "Empty()")
    assert (Node(1) == Node(1), Node(1) == Node(2)) == (True, False)


def test_objects_are_sent_to_other_processes() -> None:
    sent = Break(0.5, "#102030", "half")
    code = "import pickle, sys; print(pickle.loads(bytes.fromhex(sys.argv[1])))"
    command = [sys.executable, "-c", code, pickle.dumps(sent).hex()]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == repr(sent)


def test_init_is_written_when_the_first_object_is_made() -> None:
    point = a_point(quick)
    before = point.__init__
    point(1)
    assert point.__init__ is not before
    assert point.__init__.__code__.co_varnames[:3] == ("self", "x", "y")
