"""Certificates that another machine would refuse are refused here, with the reason."""

import asyncio
import datetime
import re
import shutil

import pytest

from ovplace.errors import StoreError, UsageError
from ovplace.fleet.certificates import DAYS, Certificates, Role, default_folder, make_certificates
from ovplace.fleet.channel import open_channel, open_listener


@pytest.fixture
def own(certificates, tmp_path):
    """A copy, to be spoilt."""
    return Certificates(shutil.copytree(certificates.folder, tmp_path / "own"))


def made(folder, monkeypatch, days):
    """Make certificates as if it were another day."""

    class Then(datetime.datetime):
        @classmethod
        def now(cls, tz=None):
            return super().now(tz) + datetime.timedelta(days=days)

    with monkeypatch.context() as patch:
        patch.setattr(datetime, "datetime", Then)
        make_certificates(folder)
    return Certificates(folder)


def refused(certificates, role, why):
    with pytest.raises(UsageError, match=why):
        certificates.check(role)


def test_without_a_home_folder_it_is_said_how_to_name_another(homeless):
    with pytest.raises(StoreError, match=r"there is no home folder for '~/\.config'; set OVPLACE_CERTS"):
        default_folder()


def test_what_was_written_is_deleted_where_not_all_can_be(tmp_path):
    last = Certificates(tmp_path).of(list(Role)[-1])
    last.write_text("somebody else's")
    with pytest.raises(StoreError, match=f"cannot write '{tmp_path}': File exists; choose another folder with -o"):
        make_certificates(tmp_path)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["somebody else's"]


def test_good_ones_are_taken(certificates):
    for role in Role:
        certificates.check(role)


@pytest.mark.parametrize("role", Role)
def test_that_of_another_role_is_named(role, own):
    other = next(other for other in Role if other != role)
    shutil.copy(own.of(other), own.of(role))
    refused(own, role, rf"{role}\.pem' is the certificate of a {other}, not of a {role}; .* copy ca\.pem and {role}")


@pytest.mark.parametrize("name", ["ca.pem", "client.pem"])
def test_a_file_that_holds_none_is_named(name, own):
    (own.folder / name).write_bytes(b"\xff\x00 no certificate")
    refused(own, Role.CLIENT, rf"cannot read a certificate from '.*{re.escape(name)}': it holds none")


@pytest.mark.usefixtures("certificates")  # cryptography keeps the datetime with which it makes the first one
def test_those_that_have_expired_or_are_of_the_future_say_so(monkeypatch, tmp_path):
    old = made(tmp_path / "old", monkeypatch, -DAYS - 1)
    refused(old, Role.CLIENT, r"ca\.pem' expired on 20..-..-..; make new ones")
    early = made(tmp_path / "early", monkeypatch, 3)
    refused(early, Role.CLIENT, r"ca\.pem' is not valid before 20..-..-.., and the clock of this machine says .*; set")


def test_both_sides_check_before_they_connect(certificates, own):
    async def nobody(_):
        pass

    for role in Role:
        shutil.copy(certificates.of(Role.SCHEDULER if role == Role.WORKER else Role.WORKER), own.of(role))
    with pytest.raises(UsageError, match="not of a worker"):
        asyncio.run(open_channel("tls://127.0.0.1:1", own, Role.WORKER))
    with pytest.raises(UsageError, match="not of a scheduler"):
        asyncio.run(open_listener("tls://127.0.0.1:0", own, nobody))
