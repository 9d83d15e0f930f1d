"""The workcell as an MJCF document, built from primitives and the numbers of `drivers.sim.workcell`."""

from drivers.sim import workcell as w

_HALF_BLOCK = w.BLOCK_SIZE / 2
_TOOL = w.HAND - w.WRIST_TO_HAND
_LIFT_AXIS = (w.SHOULDER_FORWARD, 0, w.SHOULDER_HEIGHT - 0.064)
_PAD_HALF = (0.010, 0.002, 0.009)
_FINGER_HALF = (0.043, 0.0035, 0.010)
_TOUCH_BACK = 0.012
"""A touch grid bins contacts by direction from its site, so the site sits this far behind the pad's face [m]."""

_ASSETS = """
  <asset>
    <texture name="sky" type="skybox" builtin="gradient" width="64" height="64"
             rgb1="0.86 0.90 0.94" rgb2="0.55 0.62 0.70"/>
    <texture name="wood" type="2d" builtin="checker" width="64" height="64"
             rgb1="0.80 0.69 0.54" rgb2="0.76 0.64 0.49"/>
    <material name="table" texture="wood" texrepeat="14 14" specular="0.1" shininess="0.1"/>
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
    <position kp="80" dampratio="1" inheritrange="1" forcerange="-2.9 2.9"/>
    <default class="look"><geom contype="0" conaffinity="0" mass="0" material="motor"/></default>
    <default class="link"><geom contype="2" conaffinity="1" material="shell"/></default>
    <default class="pad">
      <geom contype="2" conaffinity="1" material="pad" friction="0.8 0.003 0.001" priority="1" mass="0.004"/>
    </default>
  </default>
"""


def _numbers(*values: float) -> str:
    return " ".join(f"{value:.6g}" for value in values)


def _box(kind: str, half: tuple[float, ...], at: tuple[float, ...], more: str = "") -> str:
    """Make a box of class `kind` from half its edges and its centre [m]."""
    return f'<geom class="{kind}" type="box" size="{_numbers(*half)}" pos="{_numbers(*at)}" {more}/>'


def _drum(radius: float, half_length: float, at: tuple[float, ...], more: str = 'euler="1.5708 0 0"') -> str:
    """Make a motor housing: a cylinder to look at, lying across the arm unless `more` says otherwise [m]."""
    size = _numbers(radius, half_length)
    return f'<geom class="look" type="cylinder" size="{size}" pos="{_numbers(*at)}" {more}/>'


def _camera(name: str, position: tuple[float, ...], target: tuple[float, ...], fov_deg: float) -> str:
    """Make a camera at `position` that looks at `target` with its right side level [m, m, deg]."""
    x, y, z = (there - here for here, there in zip(position, target, strict=True))
    axes = _numbers(y, -x, 0, -x * z, -y * z, x * x + y * y)
    return f'<camera name="{name}" pos="{_numbers(*position)}" xyaxes="{axes}" fovy="{fov_deg}"/>'


def _joint(index: int, axis: str, more: str = "") -> str:
    return f'<joint name="{w.JOINT_NAMES[index]}" axis="{axis}" range="{_numbers(*w.JOINT_RANGES[index])}" {more}/>'


def _finger(name: str, reach: float, face: float, facing: int) -> str:
    """Make a finger, its pad and the touch site that encloses the pad.

    Args:
        name: One of `workcell.PADS`.
        reach: From the body's origin to the pad's centre along the finger [m].
        face: The pad's face on the body's y axis [m].
        facing: 1 if the face looks towards positive y, else -1. A touch grid looks along its site's negative z.
    """
    along, thick, across = _PAD_HALF
    site_size = _numbers(across + 0.003, along + 0.003, _TOUCH_BACK + 0.004)
    site_at = _numbers(reach, face - facing * _TOUCH_BACK, 0)
    finger_at = (reach - 0.035, face - facing * (2 * thick + _FINGER_HALF[1]), 0)
    return f"""
      {_box("link", _FINGER_HALF, finger_at, 'mass="0.02"')}
      {_box("pad", _PAD_HALF, (reach, face - facing * thick, 0))}
      <site name="{name}_touch" type="box" size="{site_size}" pos="{site_at}"
            xyaxes="{_numbers(0, 0, -facing, 1, 0, 0)}" rgba="0 0 0 0" group="4"/>"""


def _hand() -> str:
    hinge_x, hinge_y = w.FINGER_HINGE
    return f"""
    <body name="hand" pos="{_numbers(w.WRIST_TO_HAND, 0, 0)}">
      {_joint(4, "1 0 0")}
      {_box("link", (0.016, 0.026, 0.014), (0.004, 0.002, 0), 'mass="0.05" material="motor"')}
      {_box("look", (0.012, 0.012, 0.002), (0, 0, 0.038))}
      {_box("look", (0.003, 0.006, 0.012), (-0.008, 0, 0.026))}
      <camera name="wrist" pos="0.010 0 0.048" xyaxes="0 -1 0 0.42 0 0.91" fovy="70"/>
      <site name="tool" pos="{_numbers(_TOOL, 0, 0)}" size="0.002" rgba="0 0 0 0" group="4"/>
      {_finger("fixed_finger", _TOOL, -w.PAD_GAP, 1)}
      <body name="moving_finger" pos="{_numbers(hinge_x, hinge_y, 0)}" euler="0 0 {-w.GRIPPER_PARALLEL}">
        {_joint(5, "0 0 1", 'armature="0.005"')}
        {_drum(0.010, 0.015, (0, 0, 0), "")}
        {_finger("moving_finger", _TOOL - hinge_x, w.PAD_GAP - hinge_y, -1)}
      </body>
    </body>"""


def _arm() -> str:
    return f"""
  <body name="base">
    {_box("look", (0.050, 0.036, 0.020), (-0.020, 0, 0.020), 'material="shell"')}
    {_drum(0.030, 0.014, (0, 0, 0.050), "")}
    <body name="shoulder" pos="0 0 0.064">
      {_joint(0, "0 0 1")}
      {_drum(0.031, 0.006, (0, 0, 0.004), 'material="shell"')}
      {_box("link", (0.024, 0.027, 0.022), (0.014, 0, 0.032), 'mass="0.10"')}
      {_drum(0.019, 0.031, _LIFT_AXIS)}
      <body name="upper_arm" pos="{_numbers(*_LIFT_AXIS)}">
        {_joint(1, "0 1 0")}
        {_box("link", (0.014, 0.020, 0.046), (0, 0, w.UPPER_ARM / 2), 'mass="0.12"')}
        {_box("look", (0.0175, 0.0125, 0.022), (-0.016, 0, w.UPPER_ARM / 2))}
        {_drum(0.017, 0.026, (0, 0, w.UPPER_ARM))}
        <body name="forearm" pos="{_numbers(0, 0, w.UPPER_ARM)}">
          {_joint(2, "0 1 0")}
          {_box("link", (0.055, 0.017, 0.012), (w.FOREARM / 2, 0, 0), 'mass="0.10"')}
          {_box("look", (0.022, 0.0125, 0.0175), (w.FOREARM / 2 + 0.02, 0, 0.014))}
          {_drum(0.015, 0.022, (w.FOREARM, 0, 0))}
          <body name="wrist" pos="{_numbers(w.FOREARM, 0, 0)}">
            {_joint(3, "0 1 0")}
            {_box("link", (0.018, 0.015, 0.014), (0.026, 0, 0), 'mass="0.06"')}
            {_hand()}
          </body>
        </body>
      </body>
    </body>
  </body>"""


def _bin() -> str:
    inner, height, wall = w.BIN_INNER / 2, w.BIN_HEIGHT / 2, 0.003
    parts = [((inner, inner, 0.001), (0.0, 0.0, 0.001))]
    for side in (-1, 1):
        parts.append(((wall, inner + 2 * wall, height), (side * (inner + wall), 0.0, height)))
        parts.append(((inner, wall, height), (0.0, side * (inner + wall), height)))
    boxes = "".join(
        f'<geom type="box" material="bin" size="{_numbers(*half)}" pos="{_numbers(*at)}"/>' for half, at in parts
    )
    return f'<body name="bin" pos="{_numbers(*w.BIN_CENTRE, 0)}">{boxes}</body>'


def _actuators() -> str:
    arm = "".join(f'<position name="{name}" joint="{name}"/>' for name in w.JOINT_NAMES[:5])
    return f'<actuator>{arm}<position name="gripper" joint="gripper" kp="8" forcerange="-0.6 0.6"/></actuator>'


def _sensors() -> str:
    settings = {"size": f"{w.TOUCH_COLUMNS} {w.TOUCH_ROWS}", "fov": "90 90", "gamma": "0", "nchannel": w.TOUCH_AXES}
    config = "".join(f'<config key="{key}" value="{value}"/>' for key, value in settings.items())
    plugin = 'plugin="mujoco.sensor.touch_grid" objtype="site"'
    pads = "".join(f'<plugin name="{pad}" {plugin} objname="{pad}_touch">{config}</plugin>' for pad in w.PADS)
    return f"<sensor>{pads}</sensor>"


def build_scene(timestep_s: float, width: int = 320, height: int = 240) -> str:
    """Write the scene's MJCF.

    Args:
        timestep_s: Length of a physics step [s]; up to 0.002 keeps grasps firm.
        width: Width of the largest image that will be rendered [px].
        height: Its height [px].

    Returns:
        An XML document; shadows and multisampling are off, because software rendering pays for them tenfold, and round
        shapes are coarse, which saves another third.
    """
    return f"""
<mujoco model="workcell">
  <compiler angle="radian" autolimits="true"/>
  <option timestep="{timestep_s:.9g}" integrator="implicitfast" cone="elliptic" impratio="10"/>
  <visual>
    <quality shadowsize="0" offsamples="0" numslices="16" numstacks="4" numquads="1"/>
    <global offwidth="{width}" offheight="{height}"/>
    <headlight ambient="0.35 0.35 0.35" diffuse="0.35 0.35 0.35" specular="0.05 0.05 0.05"/>
    <map znear="0.01" zfar="10"/>
  </visual>
  <extension><plugin plugin="mujoco.sensor.touch_grid"/></extension>
  {_ASSETS}{_DEFAULTS}
  <worldbody>
    <light type="directional" dir="-0.4 0.3 -1" diffuse="0.6 0.6 0.58" specular="0.1 0.1 0.1" castshadow="false"/>
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
