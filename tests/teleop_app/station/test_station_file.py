"""A wrong station file is one sentence that names the file, the field and what is allowed."""

from pathlib import Path

import pytest

from teleop_app.station.errors import StationFileError
from teleop_app.station.station_file import load_station

GOOD = "station: x\nfollower: arm\ndevices:\n  - {driver: sim_arm, name: arm}\n"
SHIPPED = Path(__file__).parents[3] / "launch" / "config"


@pytest.mark.parametrize("name", sorted(path.name for path in SHIPPED.glob("*.yaml")))
def test_the_shipped_stations_are_valid(name: str) -> None:
    assert load_station(SHIPPED / name).station == Path(name).stem


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "a station file is a mapping, this is NoneType"),
        ("a: [", "not valid YAML"),
        (GOOD.replace("sim_arm", "simarm"), "devices[arm]: 'driver' 'simarm' is not known; known are 'sim_arm'"),
        (GOOD.replace("}", ", rate: 3}"), "devices[arm].rate: unknown field; did you mean 'rate_hz'?"),
        (GOOD.replace("}", ", rate_hz: -3}"), "devices[arm].rate_hz: Input should be greater than 0, found -3"),
        (GOOD.replace("follower: arm", "follower: amr"), "follower: there is no arm 'amr'; arms here: arm"),
        (GOOD.replace("follower: arm\n", ""), "follower: an active station needs the name of one of its arms"),
        (GOOD + "  - {driver: sim_arm, name: arm}\n", "devices: the name 'arm' is used twice"),
        (GOOD + "contol: {}\n", "contol: unknown field; did you mean 'control'?"),
        (GOOD.replace("station: x\n", ""), "station: this field is needed"),
        (GOOD + "extends: nowhere.yaml\n", "nowhere.yaml: no such station file"),
        (GOOD + "extends: station.yaml\n", "more than 8 files extend one another"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "station.yaml"
    path.write_text(text)
    with pytest.raises(StationFileError) as caught:
        load_station(path)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_extending_file_changes_devices_by_name(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(GOOD + "control: {rate_hz: 100, limits: {velocity: 1.0}}\n")
    (tmp_path / "more.yaml").write_text(
        "extends: base.yaml\nstation: y\ncontrol: {limits: {lag: 0.2}}\n"
        "devices:\n  - {name: arm, rate_hz: 50}\n  - {driver: sim_camera, name: front}\n"
    )
    station = load_station(tmp_path / "more.yaml")
    assert station.station == "y"
    assert [device.name for device in station.devices] == ["arm", "front"]
    assert station.device("arm").rate_hz == 50
    assert (station.control.rate_hz, station.control.limits.velocity, station.control.limits.lag) == (100, 1.0, 0.2)


def test_the_digest_depends_on_the_content_alone(tmp_path: Path) -> None:
    one, other = tmp_path / "one.yaml", tmp_path / "other.yaml"
    one.write_text(GOOD)
    other.write_text("follower: arm\n# a comment\nstation: x\ndevices: [{name: arm, driver: sim_arm}]\n")
    assert load_station(one).digest() == load_station(other).digest()
