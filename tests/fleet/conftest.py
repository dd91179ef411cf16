"""Certificates, made once."""

import pytest

from ovplace.fleet.certificates import Certificates, make_certificates


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fleet") / "certs"
    make_certificates(folder)
    return Certificates(folder)


@pytest.fixture(scope="session")
def strangers(tmp_path_factory):
    """Certificates of another authority."""
    folder = tmp_path_factory.mktemp("strangers") / "certs"
    make_certificates(folder)
    return Certificates(folder)
