import pytest
from pydantic import ValidationError

from recorder.streams import FieldSpec, NumericStreamSpec


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            [{"name": "a", "shape": (3,), "dims": ("x",)}, {"name": "b", "shape": (4,), "dims": ("x",)}],
            "field b: dimension x",
        ),
        ([{"name": "a", "shape": (3,), "dims": ("time",)}], "field a: dimension time"),
        ([{"name": "a"}, {"name": "a"}], "field names repeat"),
        ([{"name": "a", "shape": (3,)}], "0 dims for shape"),
        ([{"name": "a", "shape": (3,), "dims": ("x",), "labels": ("one",)}], "1 labels for shape"),
        ([{"name": "received"}], "written for every stream"),
        ([], "at least 1 item"),
    ],
)
def test_a_stream_that_no_reader_could_make_sense_of_is_refused(fields: list[dict], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        NumericStreamSpec(name="s", rate_hz=1, fields=tuple(FieldSpec(**field) for field in fields))
