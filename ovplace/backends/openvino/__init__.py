"""Times candidates with OpenVINO on the devices of this machine."""

from ovplace.backends.openvino.backend import SUMMARY as SUMMARY
from ovplace.backends.openvino.backend import Backend as Backend
from ovplace.backends.openvino.config import Config as Config
