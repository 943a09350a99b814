from __future__ import annotations

import pickle

import pytest

from pyspark_zkgroup import errors


def kinds() -> list[type[errors.ZkgroupError]]:
    """The public ones: a room may have a subclass of one of them."""
    return [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type)
        and issubclass(kind, errors.ZkgroupError)
        and kind is not errors.ZkgroupError
    ]


def test_each_error_has_a_separate_code() -> None:
    codes = [kind.code for kind in kinds()]
    assert len(set(codes)) == len(codes)
    assert "ZKG-000" not in codes


def test_the_text_holds_code_what_and_remedy() -> None:
    error = errors.PlanError("The offset is damaged", "Restore the checkpoint")
    told = "[ZKG-006] The offset is damaged. Restore the checkpoint"
    assert str(error) == f"{told}. See docs/errors.md#zkg-006"
    assert f"{error}" == told, "within another message"
    with pytest.raises(TypeError, match="raise one of the errors below"):
        errors.ZkgroupError("too vague")


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_an_error_travels_from_task_to_driver_whole(kind: type[errors.ZkgroupError]) -> None:
    error = kind("what", "remedy")
    if isinstance(error, errors.FetchError):
        error = type(error)("what", "remedy", topic="t", partition=3, offset=9)
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is kind
    assert str(back) == str(error)
    assert vars(back) == vars(error)
