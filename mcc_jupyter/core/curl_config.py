"""The arguments of a ``curl`` command → the text of a curl config file (SPEC 3.4).

curl reads the file from a descriptor, so that no argument, and no value in one, is in an argv. Options keep their
order, because for curl the order of ``-o``, ``-d``, ``--next`` and addresses has a meaning.

``config`` answers None for an option this file does not know, since whether it takes an argument would be a guess. It
refuses a long argument, since many a curl gives up at a config line of 100 KiB.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

_WITH_ARGUMENT = frozenset(
    """abstract-unix-socket alt-svc aws-sigv4 cacert capath cert cert-type ciphers config connect-timeout
    connect-to continue-at cookie cookie-jar create-file-mode crlfile curves data data-ascii data-binary
    data-raw data-urlencode delegation dns-interface dns-ipv4-addr dns-ipv6-addr dns-servers doh-url dump-header
    ech egd-file engine etag-compare etag-save expect100-timeout form form-string ftp-account
    ftp-alternative-to-user ftp-method ftp-port ftp-ssl-ccc-mode happy-eyeballs-timeout-ms haproxy-clientip
    header hostpubmd5 hostpubsha256 hsts interface ip-tos ipfs-gateway json keepalive-cnt keepalive-time key
    key-type knownhosts krb libcurl limit-rate local-port login-options mail-auth mail-from mail-rcpt
    max-filesize max-redirs max-time netrc-file noproxy oauth2-bearer output output-dir parallel-max
    parallel-max-host pass pinnedpubkey preproxy proto proto-default proto-redir proxy proxy-cacert proxy-capath
    proxy-cert proxy-cert-type proxy-ciphers proxy-crlfile proxy-header proxy-key proxy-key-type proxy-pass
    proxy-pinnedpubkey proxy-service-name proxy-tls13-ciphers proxy-tlsauthtype proxy-tlspassword proxy-tlsuser
    proxy-user proxy1.0 pubkey quote random-file range rate referer request request-target resolve retry
    retry-delay retry-max-time sasl-authzid service-name sigalgs socks4 socks4a socks5 socks5-gssapi-service
    socks5-hostname speed-limit speed-time stderr telnet-option tftp-blksize time-cond tls-max tls13-ciphers
    tlsauthtype tlspassword tlsuser trace trace-ascii trace-config unix-socket upload-file upload-flags url
    url-query user user-agent variable vlan-priority write-out""".split()
)
_FLAGS = frozenset(
    """anyauth append basic ca-native cert-status compressed compressed-ssh create-dirs crlf digest disable
    disable-eprt disable-epsv disallow-username-in-url doh-cert-status doh-insecure fail fail-early
    fail-with-body false-start follow form-escape ftp-create-dirs ftp-pasv ftp-pret ftp-skip-pasv-ip ftp-ssl-ccc
    ftp-ssl-control get globoff haproxy-protocol head http0.9 http1.0 http1.1 http2 http2-prior-knowledge http3
    http3-only ignore-content-length include insecure ipv4 ipv6 junk-session-cookies list-only location
    location-trusted mail-rcpt-allowfails mptcp negotiate netrc netrc-optional next no-alpn no-buffer no-clobber
    no-keepalive no-npn no-progress-meter no-sessionid ntlm ntlm-wb out-null parallel parallel-immediate
    path-as-is post301 post302 post303 progress-bar progress-meter proxy-anyauth proxy-basic proxy-ca-native
    proxy-digest proxy-http2 proxy-insecure proxy-negotiate proxy-ntlm proxy-ssl-allow-beast
    proxy-ssl-auto-client-cert proxy-tlsv1 proxytunnel raw remote-header-name remote-name remote-name-all
    remote-time remove-on-error retry-all-errors retry-connrefused sasl-ir show-error show-headers silent
    skip-existing socks5-basic socks5-gssapi socks5-gssapi-nec ssl ssl-allow-beast ssl-auto-client-cert
    ssl-no-revoke ssl-reqd ssl-revoke-best-effort ssl-sessions sslv2 sslv3 styled-output
    suppress-connect-headers tcp-fastopen tcp-nodelay tftp-no-options tls-earlydata tlsv1 tlsv1.0 tlsv1.1
    tlsv1.2 tlsv1.3 tr-encoding trace-ids trace-time use-ascii verbose version xattr""".split()
)
_SHORT_WITH_ARGUMENT = frozenset("EKCbcdDFPHmoxUQreXYytzTuAw")
_SHORT_FLAGS = frozenset("aqfgGI0ik46jlLMnNZ#pJORSs23Bv1:V")

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\t": "\\t", "\n": "\\n", "\r": "\\r", "\v": "\\v"})


LONGEST_LINE = 100 * 1024 - 1
"""Bytes of a config line, its newline among them, that every curl reads."""


class TooLong(Exception):
    """An argument that no curl is sure to take; ``size`` is in bytes, as it would stand in the file."""

    def __init__(self, size: int) -> None:
        self.size = size
        super().__init__(size)


def config(words: Sequence[str]) -> bytes | None:
    """The config file that stands for ``curl WORDS…``, or None where an option is not known. Raises ``TooLong``."""
    lines: list[bytes] | None
    try:
        lines = [_encoded(f"{line}\n") for line in _lines(iter(words))]
    except _Unknown:
        lines = None
    longest = max(map(len, map(_encoded, words) if lines is None else lines), default=0)
    if longest > LONGEST_LINE:
        raise TooLong(longest)
    return None if lines is None else b"".join(lines)


def options(words: Sequence[str]) -> list[tuple[str, str]] | None:
    """The options of ``curl WORDS…`` and their values, an address as ``--url``; None where an option is not known."""
    try:
        pairs = [line.partition(" ") for line in _lines(iter(words))]
    except _Unknown:
        return None
    return [(option, value[1:-1]) for option, _, value in pairs]


class _Unknown(Exception):
    pass


def _lines(words: Iterator[str]) -> Iterator[str]:
    for word in words:
        if word == "--":
            yield from (f"--url {_quoted(address)}" for address in words)
        elif word.startswith("--"):
            name = word[2:]
            if name in _WITH_ARGUMENT:
                yield f"{word} {_quoted(_next(words))}"
            elif name in _FLAGS or name.removeprefix("no-") in _FLAGS:
                yield word
            else:
                raise _Unknown
        elif word.startswith("-") and len(word) > 1:
            yield from _short(word[1:], words)
        else:
            yield f"--url {_quoted(word)}"


def _short(letters: str, words: Iterator[str]) -> Iterator[str]:
    for at, letter in enumerate(letters):
        if letter in _SHORT_WITH_ARGUMENT:
            yield f"-{letter} {_quoted(letters[at + 1 :] or _next(words))}"
            return
        if letter not in _SHORT_FLAGS:
            raise _Unknown
        yield f"-{letter}"


def _next(words: Iterator[str]) -> str:
    found = next(words, None)
    if found is None:
        raise _Unknown  # curl itself says best which option lacks its argument
    return found


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _quoted(word: str) -> str:
    return f'"{word.translate(_ESCAPES)}"'
