"""Certificates of a fleet: an authority of its own, and one certificate for each role.

What a certificate may do is written in it: only the scheduler's may serve, and its common name is its role. So what a
box holds lets nobody pose as the scheduler, or start a search.
"""

from __future__ import annotations

import datetime
import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ovplace.config.files import user_folder
from ovplace.errors import StoreError, UsageError

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

VARIABLE = "OVPLACE_CERTS"
"""Environment variable that names another folder."""

DAYS = 825
"""Days for which certificates are valid."""

_LONGEST_NAME = 64
"""Bytes of a common name, at most; RFC 5280 allows as many characters, `cryptography` bytes."""

_MAKE = "'ovplace cluster certs' makes them on one machine; copy ca.pem and {role}.pem from there"


class Role(StrEnum):
    """The part that a process plays in a fleet."""

    SCHEDULER = "scheduler"
    WORKER = "worker"
    CLIENT = "client"


def default_folder() -> Path:
    """Return the folder: `$OVPLACE_CERTS`, else `ovplace/certs` in `$XDG_CONFIG_HOME`, else in `~/.config`.

    Raises:
        StoreError: there is no home folder.
    """
    return user_folder(VARIABLE, "XDG_CONFIG_HOME", "~/.config", inside="certs")


@dataclass(frozen=True)
class Certificates:
    """A folder with certificates.

    Attributes:
        folder: it holds `ca.pem`, and of each role that runs on this machine a `.pem` with certificate and key.
    """

    folder: Path

    @property
    def authority(self) -> Path:
        """The authority's certificate, which every machine needs."""
        return self.folder / "ca.pem"

    @property
    def authority_key(self) -> Path:
        """The authority's key, which signs new certificates and is needed nowhere else."""
        return self.folder / "ca-key.pem"

    def of(self, role: Role) -> Path:
        """Return the file of a role: certificate and key."""
        return self.folder / f"{role}.pem"

    def connection_arguments(self, role: Role) -> dict[str, Any]:
        """Return what `distributed.comm` connects with.

        Raises:
            UsageError: a file is missing, or is no certificate.
        """
        arguments: dict[str, Any] = self._arguments(role, "get_connection_args")
        return arguments

    def listening_arguments(self) -> dict[str, Any]:
        """Return what `distributed.comm` listens with.

        Raises:
            UsageError: a file is missing, or is no certificate.
        """
        arguments: dict[str, Any] = self._arguments(Role.SCHEDULER, "get_listen_args")
        return arguments

    def check(self, role: Role) -> None:
        """Check what the other side of a connection would refuse without saying why.

        Args:
            role: of this process.

        Raises:
            UsageError: a certificate is missing, cannot be read, is of another role, or is not valid now.
        """
        self._require(role)
        authority, own = (_read(path, role) for path in (self.authority, self.of(role)))
        _check_dates(self.authority, authority)
        _check_dates(self.of(role), own)
        if (found := _common_name(own)) != role:
            raise UsageError(
                f"'{self.of(role)}' is the certificate of a {found}, not of a {role}; {_MAKE.format(role=role)}"
            )

    def _require(self, role: Role) -> None:
        missing = [path for path in (self.authority, self.of(role)) if not path.is_file()]
        if missing:
            raise UsageError(f"there is no certificate '{missing[0]}'; {_MAKE.format(role=role)} (or set {VARIABLE})")

    def _arguments(self, role: Role, method: str) -> Any:
        from distributed.security import Security

        self._require(role)
        files = {"tls_ca_file": str(self.authority), f"tls_{role}_cert": str(self.of(role))}
        try:
            return getattr(Security(require_encryption=True, **files), method)(str(role))
        except OSError as error:  # ssl.SSLError is one
            raise UsageError(
                f"cannot use the certificates in '{self.folder}': {error}; {_MAKE.format(role=role)}"
            ) from (error)


def _read(path: Path, role: Role) -> x509.Certificate:
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, ValueError) as error:
        why = (isinstance(error, OSError) and error.strerror) or "it holds none"
        raise UsageError(f"cannot read a certificate from '{path}': {why}; {_MAKE.format(role=role)}") from error


def _common_name(certificate: x509.Certificate) -> str:
    """Return the name that is the role; a certificate of another maker may hold further ones."""
    from cryptography.x509.oid import NameOID

    found = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(found[0].value) if found else "nobody"


def _check_dates(path: Path, certificate: x509.Certificate) -> None:
    now = datetime.datetime.now(datetime.UTC)
    if now > certificate.not_valid_after_utc:
        raise UsageError(
            f"'{path}' expired on {certificate.not_valid_after_utc:%Y-%m-%d}; make new ones with "
            "'ovplace cluster certs -o FOLDER', and copy them to all machines"
        )
    if now < certificate.not_valid_before_utc:
        raise UsageError(
            f"'{path}' is not valid before {certificate.not_valid_before_utc:%Y-%m-%d}, and the clock of this machine "
            f"says {now:%Y-%m-%d}; set the clock"
        )


def make_certificates(folder: Path) -> list[Path]:
    """Make an authority and the certificates of all roles.

    Args:
        folder: where; it must hold no authority yet.

    Returns:
        The files.

    Raises:
        UsageError: the folder holds an authority, whose certificates are in use.
        StoreError: it cannot be written; what was written of it is deleted.
    """
    made = Certificates(folder)
    if made.authority.exists():
        raise UsageError(f"'{folder}' holds certificates; delete it to replace them all, or choose another with -o")
    authority, key = _signed(_of_authority(folder))
    texts = {made.authority: _pem(authority), made.authority_key: _key_pem(key)}
    for role in Role:
        certificate, own_key = _signed(str(role), (authority, key))
        texts[made.of(role)] = _pem(certificate) + _key_pem(own_key)
    written: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for path, text in texts.items():
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                written.append(path)
                file.write(text)
    except OSError as error:
        for path in written:
            path.unlink()
        raise StoreError(f"cannot write '{folder}': {error.strerror}; choose another folder with -o") from error
    return written


def _of_authority(folder: Path) -> str:
    """Return the name of the authority in a folder, with as much of the folder's name as a certificate may hold."""
    name = f"ovplace fleet {folder.resolve().name}".encode(errors="replace")
    return name[:_LONGEST_NAME].decode(errors="ignore")


def _signed(
    name: str, authority: tuple[x509.Certificate, EllipticCurvePrivateKey] | None = None
) -> tuple[x509.Certificate, EllipticCurvePrivateKey]:
    """Return a certificate with its key: an authority's, or one that `authority` signs."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    issuer, issuer_key = (authority[0].subject, authority[1]) if authority else (subject, key)
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))  # clocks of boxes differ
        .not_valid_after(now + datetime.timedelta(days=DAYS))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    )
    for extension in _allowed(name, is_authority=authority is None):
        builder = builder.add_extension(extension, critical=True)
    return builder.sign(issuer_key, hashes.SHA256()), key


def _allowed(name: str, *, is_authority: bool) -> list[Any]:
    """Return the extensions that say what a certificate may be used for."""
    from cryptography import x509
    from cryptography.x509.oid import ExtendedKeyUsageOID

    usage = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only"), False
    )
    keys = x509.KeyUsage(
        digital_signature=not is_authority, key_cert_sign=is_authority, crl_sign=False, decipher_only=False, **usage
    )
    basic = x509.BasicConstraints(ca=is_authority, path_length=0 if is_authority else None)
    if is_authority:
        return [basic, keys]
    serves = name == Role.SCHEDULER
    purpose = ExtendedKeyUsageOID.SERVER_AUTH if serves else ExtendedKeyUsageOID.CLIENT_AUTH
    return [basic, keys, x509.ExtendedKeyUsage([purpose])]


def _pem(certificate: x509.Certificate) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM).decode()


def _key_pem(key: EllipticCurvePrivateKey) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
