"""Chooses how MuJoCo renders without a display, before MuJoCo is imported: afterwards it is too late.

EGL first, then OSMesa. The libraries are tried here through ctypes, because a failed import of MuJoCo's own backend
cannot be repeated with another one in the same process. Mesa's software renderer gets one thread per camera: its
threads only wait for each other on a busy machine, and one frame costs the same processor time with one.
"""

import ctypes
import os
import sys
from collections.abc import Callable

from drivers.errors import DriverError

PACKAGES = "libegl1 libegl-mesa0 libgl1-mesa-dri (EGL) or libosmesa6 (OSMesa)"
_EGL_PLATFORM_DEVICE_EXT = 0x313F
_MAX_DEVICES = 16


def choose_gl_backend() -> str:
    """Set MUJOCO_GL to a backend that works here, and return it; a value set by the user is kept.

    Raises:
        DriverError: neither works, and the sentence names the packages that are missing; or MuJoCo is imported already.
    """
    os.environ.setdefault("LP_NUM_THREADS", "1")
    chosen = os.environ.get("MUJOCO_GL", "").strip().lower()
    if chosen and chosen not in {"disable", "disabled", "off", "false", "0"}:
        if chosen in _BACKENDS and not _BACKENDS[chosen]():
            raise DriverError(
                f"cannot render the simulation: MUJOCO_GL={chosen} does not work here; install {PACKAGES}"
            )
        return chosen
    if "mujoco" in sys.modules:
        raise DriverError("cannot render the simulation: MuJoCo was imported without MUJOCO_GL=egl in this process")
    for backend, works in _BACKENDS.items():
        if works():
            os.environ["MUJOCO_GL"] = backend
            return backend
    raise DriverError(f"cannot render the simulation: no working OpenGL; install {PACKAGES}")


def _egl_works() -> bool:
    """Whether some EGL device can be initialised (extensions EGL_EXT_device_enumeration and _platform_device)."""
    try:
        egl = ctypes.CDLL("libEGL.so.1")
    except OSError:
        return False
    egl.eglGetProcAddress.restype = ctypes.c_void_p
    query_address = egl.eglGetProcAddress(b"eglQueryDevicesEXT")
    display_address = egl.eglGetProcAddress(b"eglGetPlatformDisplayEXT")
    if not query_address or not display_address:
        return False
    query = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(query_address)
    get_display = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p)(display_address)
    devices, count = (ctypes.c_void_p * _MAX_DEVICES)(), ctypes.c_int()
    if not query(_MAX_DEVICES, devices, ctypes.byref(count)):
        return False
    displays = (get_display(_EGL_PLATFORM_DEVICE_EXT, device, None) for device in devices[: count.value])
    return any(display and egl.eglInitialize(ctypes.c_void_p(display), None, None) for display in displays)


def _osmesa_works() -> bool:
    for name in ("libOSMesa.so.8", "libOSMesa.so.6"):
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return True
    return False


_BACKENDS: dict[str, Callable[[], bool]] = {"egl": _egl_works, "osmesa": _osmesa_works}
