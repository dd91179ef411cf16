"""The only reader and writer of OpenVINO models."""
