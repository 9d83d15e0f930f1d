"""Every register of every table, and the sign convention."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.errors import DeviceConfigError
from drivers.servo.control_table import MODELS, model_called
from drivers.servo.feetech_table import STS3215
from drivers.servo.registers import Area

REGISTERS = [(model, name) for model in MODELS.values() for name in model.registers]


@pytest.mark.parametrize("model", MODELS.values(), ids=lambda model: model.name)
def test_registers_do_not_overlap_and_the_areas_are_apart(model):
    used = [a for r in model.registers.values() for a in range(r.address, r.address + r.size)]
    assert len(used) == len(set(used))
    first_ram = min(r.address for r in model.registers.values() if r.area is Area.RAM)
    assert all(r.address < first_ram for r in model.registers.values() if r.area is Area.EEPROM)


@given(st.sampled_from(REGISTERS), st.data())
@settings(max_examples=400, deadline=None)
def test_every_value_that_fits_comes_back(case, data):
    model, name = case
    register = model[name]
    low = register.lowest
    value = data.draw(st.integers(low, register.limit))
    encoded = register.encode(value)
    assert len(encoded) == register.size
    assert register.decode(encoded) == value
    assert register.decode(encoded + b"\xff") == value


@pytest.mark.parametrize(("model", "name"), REGISTERS, ids=lambda case: case if isinstance(case, str) else case.name)
def test_a_value_that_does_not_fit_is_refused_never_cut(model, name):
    register = model[name]
    low = register.lowest
    for value in (low - 1, register.limit + 1):
        with pytest.raises(ValueError, match=f"register {register.address} takes {low} to {register.limit}"):
            register.encode(value)


def test_negative_values_carry_a_sign_bit():
    assert STS3215["goal_position"].encode(-100) == bytes.fromhex("6480")
    assert STS3215["homing_offset"].encode(-2047) == bytes.fromhex("ff0f")
    assert STS3215["present_load"].decode(bytes.fromhex("0104")) == -1


def test_an_unknown_model_is_named():
    with pytest.raises(DeviceConfigError, match="no control table for servo model scs15; known are sts3215"):
        model_called("scs15")
