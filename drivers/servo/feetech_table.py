"""The control table of the Feetech STS3215.

Register names, sizes, units and defaults are those of the STS3215 memory table of the manufacturer's manual
(https://www.feetechrc.com, STS series), with the sign bits that the published SDKs use.
"""

import math
from types import MappingProxyType

from drivers.servo import feetech
from drivers.servo.registers import ServoModel, fixed, measured, ram, rom

STS3215 = ServoModel(
    name="sts3215",
    numbers=MappingProxyType({777: "STS3215", 2825: "STS3250"}),
    counts_per_turn=4096,
    velocity_unit=2 * math.pi / 4096,
    return_delay_unit_s=2e-6,
    codec=feetech,
    default_baud=1_000_000,
    position_modes=MappingProxyType({0: False}),
    latching=feetech.ServoError.OVERLOAD.value,
    homing_sign=-1,
    largest_offset=2047,
    current_unit=0.0065,
    registers=MappingProxyType(
        {
            "firmware_major": fixed(0, 1, 3),
            "firmware_minor": fixed(1, 1, 10),
            "end": fixed(2, 1),
            "model_number": fixed(3, 2, 777),
            "id": rom(5, 1, 1),
            "baud_rate": rom(6, 1),
            "return_delay": rom(7, 1, 0, "2 us"),
            "response_level": rom(8, 1, 1),
            "min_position_limit": rom(9, 2, 0, "step"),
            "max_position_limit": rom(11, 2, 4095, "step"),
            "max_temperature": rom(13, 1, 70, "degC"),
            "max_voltage": rom(14, 1, 80, "0.1 V"),
            "min_voltage": rom(15, 1, 40, "0.1 V"),
            "max_torque": rom(16, 2, 1000, "0.1 %"),
            "phase": rom(18, 1, 12),
            "unloading_conditions": rom(19, 1, 44),
            "led_alarm": rom(20, 1, 47),
            "position_p": rom(21, 1, 32),
            "position_d": rom(22, 1, 32),
            "position_i": rom(23, 1),
            "min_start_force": rom(24, 2, 16, "0.1 %"),
            "cw_dead_zone": rom(26, 1, 1, "step"),
            "ccw_dead_zone": rom(27, 1, 1, "step"),
            "protection_current": rom(28, 2, 500, "6.5 mA"),
            "angular_resolution": rom(30, 1, 1),
            "homing_offset": rom(31, 2, 0, "step", sign_bit=11),
            "mode": rom(33, 1),
            "protective_torque": rom(34, 1, 20, "%"),
            "protection_time": rom(35, 1, 200, "10 ms"),
            "overload_torque": rom(36, 1, 80, "%"),
            "velocity_p": rom(37, 1, 10),
            "over_current_time": rom(38, 1, 200, "10 ms"),
            "velocity_i": rom(39, 1, 10),
            "torque_enable": ram(40, 1),
            "acceleration": ram(41, 1, 0, "100 step/s^2"),
            "goal_position": ram(42, 2, 0, "step", sign_bit=15),
            "goal_time": ram(44, 2, 0, "0.1 %", sign_bit=10),
            "goal_velocity": ram(46, 2, 0, "step/s", sign_bit=15),
            "torque_limit": ram(48, 2, 1000, "0.1 %"),
            "lock": ram(55, 1, 1),
            "present_position": measured(56, 2, "step", sign_bit=15),
            "present_velocity": measured(58, 2, "step/s", sign_bit=15),
            "present_load": measured(60, 2, "0.1 %", sign_bit=10),
            "present_voltage": measured(62, 1, "0.1 V"),
            "present_temperature": measured(63, 1, "degC"),
            "write_pending": measured(64, 1),
            "status": measured(65, 1),
            "moving": measured(66, 1),
            "present_current": measured(69, 2, "6.5 mA", sign_bit=15),
            "goal_position_echo": measured(71, 2, "step", sign_bit=15),
            "moving_threshold": ram(80, 1, 1, "step/s"),
            "dts": ram(81, 1, 1, "ms"),
            "velocity_unit_factor": ram(82, 1, 1),
            "hts": ram(83, 1),
            "max_velocity": ram(84, 1, 68, "50 step/s"),
            "max_acceleration": ram(85, 1, 254, "100 step/s^2"),
            "acceleration_multiplier": ram(86, 1, 1),
        }
    ),
)
