"""The workcell as an MJCF document, built from primitives and the numbers of `drivers.sim.workcell`."""

from drivers.sim import workcell as w

_HALF_BLOCK = w.BLOCK_SIZE / 2
_TOOL = w.HAND - w.WRIST_TO_HAND
_PAD_HALF = (0.010, 0.002, 0.009)
_PAD_SITE_BACK = 0.012

_ASSETS = """
  <asset>
    <texture name="sky" type="skybox" builtin="gradient" rgb1="0.86 0.90 0.94" rgb2="0.55 0.62 0.70" width="64" height="64"/>
    <texture name="wood" type="2d" builtin="checker" rgb1="0.80 0.69 0.54" rgb2="0.76 0.64 0.49" width="64" height="64"/>
    <material name="table" texture="wood" texrepeat="14 14" texuniform="false" specular="0.1" shininess="0.1" reflectance="0"/>
    <material name="shell" rgba="0.96 0.52 0.10 1" specular="0.3" shininess="0.3"/>
    <material name="motor" rgba="0.17 0.18 0.20 1" specular="0.4" shininess="0.4"/>
    <material name="pad" rgba="0.55 0.58 0.62 1" specular="0.1"/>
    <material name="block" rgba="0.08 0.30 0.92 1" specular="0.2"/>
    <material name="bin" rgba="0.20 0.55 0.36 1" specular="0.1"/>
  </asset>
"""

_DEFAULTS = """
  <default>
    <geom contype="1" conaffinity="1" condim="4" friction="0.7 0.01 0.001" solref="0.006 1" solimp="0.95 0.99 0.001"/>
    <joint type="hinge" damping="0.2" armature="0.02" frictionloss="0.02"/>
    <default class="look"><geom contype="0" conaffinity="0" mass="0" group="1"/></default>
    <default class="link"><geom contype="2" conaffinity="1" group="1" material="shell"/></default>
    <default class="pad"><geom contype="2" conaffinity="1" group="1" material="pad" friction="1.6 0.05 0.001" priority="1"/></default>
    <position kp="80" dampratio="1" inheritrange="1"/>
  </default>
"""


def _numbers(*values: float) -> str:
    return " ".join(f"{value:.6g}" for value in values)


def _camera(name: str, position: tuple[float, float, float], target: tuple[float, float, float], fov_deg: float) -> str:
    """Make a camera at `position` that looks at `target` with its right side level [m, m, deg]."""
    x, y, z = (there - here for here, there in zip(position, target, strict=True))
    axes = _numbers(y, -x, 0, -x * z, -y * z, x * x + y * y)
    return f'<camera name="{name}" pos="{_numbers(*position)}" xyaxes="{axes}" fovy="{fov_deg}"/>'


def _joint(index: int, axis: str, more: str = "") -> str:
    low, high = w.JOINT_RANGES[index]
    return f'<joint name="{w.JOINT_NAMES[index]}" axis="{axis}" range="{_numbers(low, high)}" {more}/>'


def _motor(position: str, euler: str = "0 0 0") -> str:
    return f'<geom class="look" type="box" size="0.022 0.0125 0.0175" pos="{position}" euler="{euler}" material="motor"/>'


def _pad(name: str, x: float, y: float, facing: int) -> str:
    """Make a pad whose face looks towards `facing` times y, and the touch site behind it, which encloses it.

    A touch grid looks along its site's negative z and bins contacts by direction, so the site sits behind the pad.
    """
    along, thick, across = _PAD_HALF
    axes = _numbers(0, 0, -facing, 1, 0, 0)
    return f"""
      <geom name="{name}_pad" class="pad" type="box" size="{_numbers(along, thick, across)}" pos="{_numbers(x, y, 0)}" mass="0.004"/>
      <site name="{name}_touch" type="box" size="{_numbers(across + 0.003, along + 0.003, _PAD_SITE_BACK + 0.006)}"
            pos="{_numbers(x, y - facing * (_PAD_SITE_BACK - thick), 0)}" xyaxes="{axes}" rgba="0 0 0 0" group="4"/>"""


def _hand() -> str:
    gap = w.PAD_GAP
    hinge_x, hinge_y = w.FINGER_HINGE
    reach = _TOOL - hinge_x
    return f"""
    <body name="hand" pos="{_numbers(w.WRIST_TO_HAND, 0, 0)}">
      {_joint(4, "1 0 0")}
      <geom class="link" type="box" size="0.016 0.026 0.014" pos="0.004 0.002 0" mass="0.05" material="motor"/>
      <geom class="link" type="box" size="0.043 0.0035 0.010" pos="{_numbers(_TOOL - 0.035, -gap - 0.0075, 0)}" mass="0.02"/>
      <geom class="look" type="box" size="0.012 0.012 0.002" pos="0.000 0 0.038" material="motor"/>
      <geom class="look" type="box" size="0.003 0.006 0.012" pos="-0.008 0 0.026" material="motor"/>
      <camera name="wrist" pos="0.010 0 0.048" xyaxes="0 -1 0 0.42 0 0.91" fovy="70"/>
      {_pad("fixed_finger", _TOOL, -gap - 0.002, 1)}
      <site name="tool" pos="{_numbers(_TOOL, 0, 0)}" size="0.002" rgba="0 0 0 0" group="4"/>
      <body name="moving_finger" pos="{_numbers(hinge_x, hinge_y, 0)}" euler="{_numbers(0, 0, -w.GRIPPER_PARALLEL)}">
        {_joint(5, "0 0 1", 'armature="0.005"')}
        <geom class="look" type="cylinder" size="0.010 0.015" material="motor"/>
        <geom class="link" type="box" size="0.043 0.0035 0.010" pos="{_numbers(reach - 0.035, 0.0075 + gap - hinge_y, 0)}" mass="0.02"/>
        {_pad("moving_finger", reach, gap + 0.002 - hinge_y, -1)}
      </body>
    </body>"""


def _arm() -> str:
    return f"""
  <body name="base">
    <geom class="look" type="box" size="0.050 0.036 0.020" pos="-0.020 0 0.020" material="shell"/>
    <geom class="look" type="cylinder" size="0.030 0.014" pos="0 0 0.050" material="motor"/>
    <body name="shoulder" pos="0 0 0.064">
      {_joint(0, "0 0 1")}
      <geom class="look" type="cylinder" size="0.031 0.006" pos="0 0 0.004" material="shell"/>
      <geom class="link" type="box" size="0.024 0.027 0.022" pos="0.014 0 0.032" mass="0.10"/>
      <geom class="look" type="cylinder" size="0.019 0.031" pos="{_numbers(w.SHOULDER_FORWARD, 0, w.SHOULDER_HEIGHT - 0.064)}" euler="1.5708 0 0" material="motor"/>
      <body name="upper_arm" pos="{_numbers(w.SHOULDER_FORWARD, 0, w.SHOULDER_HEIGHT - 0.064)}">
        {_joint(1, "0 1 0")}
        <geom class="link" type="box" size="0.014 0.020 0.046" pos="{_numbers(0, 0, w.UPPER_ARM / 2)}" mass="0.12"/>
        {_motor(_numbers(-0.016, 0, w.UPPER_ARM / 2), "0 1.5708 0")}
        <geom class="look" type="cylinder" size="0.017 0.026" pos="{_numbers(0, 0, w.UPPER_ARM)}" euler="1.5708 0 0" material="motor"/>
        <body name="forearm" pos="{_numbers(0, 0, w.UPPER_ARM)}">
          {_joint(2, "0 1 0")}
          <geom class="link" type="box" size="0.055 0.017 0.012" pos="{_numbers(w.FOREARM / 2, 0, 0)}" mass="0.10"/>
          {_motor(_numbers(w.FOREARM / 2 + 0.02, 0, 0.014))}
          <geom class="look" type="cylinder" size="0.015 0.022" pos="{_numbers(w.FOREARM, 0, 0)}" euler="1.5708 0 0" material="motor"/>
          <body name="wrist" pos="{_numbers(w.FOREARM, 0, 0)}">
            {_joint(3, "0 1 0")}
            <geom class="link" type="box" size="0.018 0.015 0.014" pos="0.026 0 0" mass="0.06"/>
            {_hand()}
          </body>
        </body>
      </body>
    </body>
  </body>"""


def _bin() -> str:
    inner, height, wall = w.BIN_INNER / 2, w.BIN_HEIGHT / 2, 0.003
    sides = ((inner + wall, 0, wall, inner + 2 * wall), (-inner - wall, 0, wall, inner + 2 * wall))
    fronts = ((0, inner + wall, inner, wall), (0, -inner - wall, inner, wall))
    walls = "".join(
        f'<geom type="box" material="bin" pos="{_numbers(x, y, height)}" size="{_numbers(half_x, half_y, height)}"/>'
        for x, y, half_x, half_y in (*sides, *fronts)
    )
    floor = f'<geom type="box" material="bin" pos="0 0 0.001" size="{_numbers(inner, inner, 0.001)}"/>'
    return f'<body name="bin" pos="{_numbers(*w.BIN_CENTRE, 0)}">{floor}{walls}</body>'


def _actuators() -> str:
    strong = "".join(f'<position name="{name}" joint="{name}" forcerange="-2.9 2.9"/>' for name in w.JOINT_NAMES[:5])
    return f'<actuator>{strong}<position name="gripper" joint="gripper" kp="8" forcerange="-0.6 0.6"/></actuator>'


def _sensors() -> str:
    pads = "".join(
        f"""<plugin name="{pad}" plugin="mujoco.sensor.touch_grid" objtype="site" objname="{pad}_touch">
        <config key="size" value="{w.TOUCH_COLUMNS} {w.TOUCH_ROWS}"/><config key="fov" value="90 90"/>
        <config key="gamma" value="0"/><config key="nchannel" value="{w.TOUCH_AXES}"/></plugin>"""
        for pad in w.PADS
    )
    return f"<sensor>{pads}</sensor>"


def build_scene(timestep_s: float, width: int = 320, height: int = 240) -> str:
    """Write the scene's MJCF.

    Args:
        timestep_s: Length of a physics step [s]; up to 0.002 keeps grasps firm.
        width: Largest image that will be rendered [px].
        height: Its height [px].

    Returns:
        An XML document; shadows and multisampling are off because software rendering pays for them tenfold.
    """
    return f"""
<mujoco model="workcell">
  <compiler angle="radian" autolimits="true"/>
  <option timestep="{timestep_s:.9g}" integrator="implicitfast" cone="elliptic" impratio="10"/>
  <visual>
    <quality shadowsize="0" offsamples="0"/>
    <global offwidth="{width}" offheight="{height}"/>
    <headlight ambient="0.35 0.35 0.35" diffuse="0.35 0.35 0.35" specular="0.05 0.05 0.05"/>
    <map znear="0.01" zfar="10"/>
  </visual>
  <extension><plugin plugin="mujoco.sensor.touch_grid"/></extension>
  {_ASSETS}{_DEFAULTS}
  <worldbody>
    <light directional="true" pos="0 0 1" dir="-0.4 0.3 -1" diffuse="0.6 0.6 0.58" specular="0.1 0.1 0.1" castshadow="false"/>
    <geom name="table" type="box" material="table" size="0.45 0.45 0.02" pos="0.15 0 -0.02"/>
    {_camera("front", (0.56, 0.12, 0.36), (0.10, -0.03, 0.085), 45)}
    {_arm()}
    {_bin()}
    <body name="block" pos="{_numbers(0.2, 0, _HALF_BLOCK)}">
      <freejoint name="block"/>
      <geom type="box" material="block" size="{_numbers(_HALF_BLOCK, _HALF_BLOCK, _HALF_BLOCK)}" mass="0.025"/>
    </body>
  </worldbody>
  {_actuators()}
  {_sensors()}
</mujoco>
"""
