"""Control tables of the DYNAMIXEL X series.

Addresses, sizes, units and defaults are those of the manufacturer's manual (https://emanual.robotis.com/docs/en/dxl/x/).
Registers that mean the same in every family have the same name: `mode` is "Operating Mode", `status` "Hardware Error
Status", `response_level` "Status Return Level".
"""

import math
from dataclasses import dataclass, replace
from types import MappingProxyType

from drivers.servo import dynamixel
from drivers.servo.registers import Register, ServoModel, fixed, measured, ram, rom

VELOCITY_UNIT = 0.229 * 2 * math.pi / 60
POSITION, EXTENDED_POSITION, CURRENT_BASED_POSITION = 3, 4, 5


@dataclass(frozen=True, slots=True)
class _Type:
    """In what the types differ."""

    number: int
    velocity_limit: int
    temperature_limit: int
    voltages: tuple[int, int]
    """Lowest and highest [0.1 V]."""
    shutdown: int
    fast_firmware: int
    current_limit: int = 0
    """[count]."""
    current_unit: float | None = None
    """[A]; None if load is reported instead."""


def _signed(register: Register) -> Register:
    return replace(register, signed=True)


def _registers(kind: _Type) -> dict[str, Register]:
    lowest, highest = kind.voltages
    table = {
        "model_number": fixed(0, 2, kind.number),
        "model_information": fixed(2, 4),
        "firmware": fixed(6, 1, kind.fast_firmware + 1),
        "id": rom(7, 1, 1),
        "baud_rate": rom(8, 1, 1),
        "return_delay": rom(9, 1, 250, "2 us"),
        "drive_mode": rom(10, 1),
        "mode": rom(11, 1, POSITION),
        "shadow_id": rom(12, 1, 255),
        "protocol_type": rom(13, 1, 2),
        "homing_offset": _signed(rom(20, 4, 0, "pulse")),
        "moving_threshold": rom(24, 4, 10, "0.229 rpm"),
        "max_temperature": rom(31, 1, kind.temperature_limit, "degC"),
        "max_voltage": rom(32, 2, highest, "0.1 V"),
        "min_voltage": rom(34, 2, lowest, "0.1 V"),
        "pwm_limit": rom(36, 2, 885, "0.113 %"),
        "velocity_limit": rom(44, 4, kind.velocity_limit, "0.229 rpm"),
        "max_position_limit": rom(48, 4, 4095, "pulse"),
        "min_position_limit": rom(52, 4, 0, "pulse"),
        "startup_configuration": rom(60, 1),
        "shutdown": rom(63, 1, kind.shutdown),
        "torque_enable": ram(64, 1),
        "led": ram(65, 1),
        "response_level": ram(68, 1, 2),
        "write_pending": measured(69, 1),
        "status": measured(70, 1),
        "velocity_i": ram(76, 2),
        "velocity_p": ram(78, 2),
        "position_d": ram(80, 2),
        "position_i": ram(82, 2),
        "position_p": ram(84, 2),
        "feedforward_2": ram(88, 2),
        "feedforward_1": ram(90, 2),
        "bus_watchdog": _signed(ram(98, 1, 0, "20 ms")),
        "goal_pwm": _signed(ram(100, 2, 885, "0.113 %")),
        "goal_velocity": _signed(ram(104, 4, 0, "0.229 rpm")),
        "profile_acceleration": ram(108, 4, 0, "214.577 rev/min^2"),
        "profile_velocity": ram(112, 4, 0, "0.229 rpm"),
        "goal_position": _signed(ram(116, 4, 0, "pulse")),
        "realtime_tick": measured(120, 2, "ms"),
        "moving": measured(122, 1),
        "moving_status": measured(123, 1),
        "present_pwm": _signed(measured(124, 2, "0.113 %")),
        "present_velocity": _signed(measured(128, 4, "0.229 rpm")),
        "present_position": _signed(measured(132, 4, "pulse")),
        "velocity_trajectory": _signed(measured(136, 4, "0.229 rpm")),
        "position_trajectory": _signed(measured(140, 4, "pulse")),
        "present_voltage": measured(144, 2, "0.1 V"),
        "present_temperature": measured(146, 1, "degC"),
        "backup_ready": measured(147, 1),
    }
    if kind.current_unit is None:
        return table | {"present_load": _signed(measured(126, 2, "0.1 %"))}
    unit = f"{1000 * kind.current_unit:g} mA"
    return table | {
        "current_limit": rom(38, 2, kind.current_limit, unit),
        "goal_current": _signed(ram(102, 2, kind.current_limit, unit)),
        "present_current": _signed(measured(126, 2, unit)),
    }


def _model(name: str, kind: _Type) -> ServoModel:
    modes = {POSITION: False, EXTENDED_POSITION: True}
    if kind.current_unit is not None:
        modes[CURRENT_BASED_POSITION] = True
    return ServoModel(
        name=name,
        numbers=MappingProxyType({kind.number: name.upper()}),
        registers=MappingProxyType(_registers(kind)),
        counts_per_turn=4096,
        velocity_unit=VELOCITY_UNIT,
        return_delay_unit_s=2e-6,
        codec=dynamixel,
        default_baud=57_600,
        position_modes=MappingProxyType(modes),
        latching=0xFF,
        homing_sign=1,
        largest_offset=1024,
        refuses_beyond_limits=True,
        fast=dynamixel,
        fast_firmware=kind.fast_firmware,
        current_unit=kind.current_unit,
    )


_TYPES = {
    "xl330-m077": _Type(1190, 1620, 70, (35, 70), 53, 46, 1750, 0.001),
    "xl330-m288": _Type(1200, 445, 70, (35, 70), 53, 46, 1750, 0.001),
    "xc330-t181": _Type(1210, 445, 70, (55, 140), 53, 46, 910, 0.001),
    "xc330-t288": _Type(1220, 445, 70, (55, 140), 53, 46, 910, 0.001),
    "xl430-w250": _Type(1060, 265, 72, (60, 140), 52, 45),
    "xm430-w210": _Type(1030, 350, 80, (95, 160), 52, 45, 1193, 0.00269),
    "xm430-w350": _Type(1020, 350, 80, (95, 160), 52, 45, 1193, 0.00269),
    "xm540-w270": _Type(1120, 128, 80, (95, 160), 52, 45, 2047, 0.00269),
}
X_SERIES = tuple(_model(name, kind) for name, kind in _TYPES.items())
"""One model per type."""
