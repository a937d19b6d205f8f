"""Throw-away TLS certificates for loopback servers, and an authority that signs them."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from typing import TYPE_CHECKING, Any, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from pathlib import Path

LOOPBACK = ("localhost", "127.0.0.1")
DAY = datetime.timedelta(days=1)


class Certificate(NamedTuple):
    """A server's context, and the file a client must trust to accept it."""

    server: ssl.SSLContext
    trusted: str


class Authority:
    """Signs certificates for servers; clients that trust the file `trusted` accept them."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        own = _builder(self._name, self._name, self._key, -1, 30)
        own = own.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self._count = 0
        self.trusted = str(folder / f"{name}.pem")
        (folder / f"{name}.pem").write_bytes(_pem(own.sign(self._key, hashes.SHA256())))

    def issue(self, *names: str, start: int = -1, end: int = 30) -> ssl.SSLContext:
        """The context of a server for these names (by default loopback), valid from day `start` to day `end`."""
        key = ec.generate_private_key(ec.SECP256R1())
        made = _builder(_name("loopback"), self._name, key, start, end)
        made = made.add_extension(_names(names or LOOPBACK), critical=False)
        self._count += 1
        path = self._folder / f"issued-{self._name.rdns[0].rfc4514_string()[3:]}-{self._count}.pem"
        return _context(path, made.sign(self._key, hashes.SHA256()), key)


def make_certificate(folder: Path) -> Certificate:
    """A certificate for 127.0.0.1 and localhost that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("loopback")
    made = _builder(name, name, key, -1, 30).add_extension(_names(LOOPBACK), critical=False)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    certificate = made.sign(key, hashes.SHA256())
    (folder / "cert.pem").write_bytes(_pem(certificate))
    return Certificate(_context(folder / "server.pem", certificate, key), str(folder / "cert.pem"))


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _names(names: tuple[str, ...]) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName([_general(name) for name in names])


def _general(name: str) -> x509.GeneralName:
    if name[0].isdigit():
        return x509.IPAddress(ipaddress.IPv4Address(name))
    return x509.DNSName(name)


def _builder(subject: x509.Name, issuer: x509.Name, key: Any, start: int, end: int) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + start * DAY)
        .not_valid_after(now + end * DAY)
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _context(path: Path, certificate: x509.Certificate, key: Any) -> ssl.SSLContext:
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + _pem(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context
