"""Secrets in names and texts: what counts as one, and the mask that replaces it.

The mask has nothing of the value in it, neither its length nor a hash, because a short value can be guessed
from both. Masking is idempotent: a masked text stays as it is.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from urllib.parse import quote

MASK = "***"
LEAST_KNOWN_CHARS = 8
"""Minimum characters of a value that is masked wherever it occurs. A shorter one also occurs in other words."""

_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_ANYWHERE = frozenset(
    (
        *("APIKEY", "AUTH", "AUTHORIZATION", "COOKIE", "CREDENTIAL", "CREDENTIALS", "CREDS", "PASSCODE"),
        *("PASSPHRASE",),
    )
)
_ENDINGS = ("PASSWORD", "PASSWORDS", "PASSWD", "SECRET", "SECRETS", "TOKEN", "ACCESSKEY", "APIKEY", "SECRETKEY")
"""Ends of a word that is a secret wherever it stands in a name, such as ``PGPASSWORD``."""
_LAST = frozenset(("BEARER", "JWT", "KEY", "PASS", "PAT", "PWD", "TOKEN"))
"""Words that make a name a secret as its last word, such as ``API_KEY``."""
_AFTER = frozenset(
    ("B64", "BASE", "BASE64", "HEADER", "HEX", "ID", "NEW", "OLD", "PRIMARY", "SECONDARY", "VALUE")
)
"""Words after the last one that change nothing, such as in ``AWS_ACCESS_KEY_ID``."""
_HARMLESS_LAST = frozenset(
    (
        *("BUDGET", "COUNT", "DIR", "ENABLED", "FILE", "FORMAT", "HOST", "LEN", "LENGTH", "LIMIT", "METHOD"),
        *("MODE", "NAME", "NUM", "PATH", "POLICY", "PORT", "PROVIDER", "RATE", "SIZE", "SOCK", "TIMEOUT"),
        *("TTL", "TYPE"),
    )
)
"""Last words of names that only tell about a secret, such as ``TOKEN_LIMIT`` and ``SSH_AUTH_SOCK``."""
_HARMLESS_BEFORE = frozenset(
    (
        *("BACKWARD", "BOS", "CACHE", "CLS", "DICT", "EOS", "FIRST", "FORWARD", "FOREIGN", "IMAGE", "KV"),
        *("LAST", "MASK", "MAX", "MIN", "NEW", "NEXT", "NUM", "PAD", "PER", "PRIMARY", "QUERY", "SEP"),
        *("SINGLE", "SORT", "SPECIAL", "UNK"),
    )
)
"""Words before ``TOKEN``, ``KEY`` or ``PASS`` that give it another meaning, such as in ``pad_token``."""
_SWITCHES = frozenset(("", "0", "1", "auto", "false", "no", "none", "null", "off", "on", "true", "yes"))
"""Values that turn something on or off, such as in ``HF_HUB_DISABLE_IMPLICIT_TOKEN=1``."""

_IS_MASK = re.compile(r"\*\*\*\d*")
_USER_INFO = re.compile(r"://([^\s/'\"<>]*)@")
_VALUE = r"(?!\*\*\*)(?:\\{0,4}\"[^\"]*\"?|\\{0,4}'[^']*'?|[^\s'\"&]+)"
_NAME = r"[A-Za-z_][\w.-]{0,99}"
_SHAPES = re.compile(
    r"""
      (?P<pem>-----BEGIN\ [^-\n]{0,60}-----.*?(?:-----END\ [^-\n]{0,60}-----|\Z))
    | (?<=://)(?P<url>(?!\*\*\*\d*@)[^\s/'"<>]{1,2000}@)
    | (?P<bearer>\b[Bb]earer\s+)(?!\*\*\*)(?:(?=[A-Za-z.~+/=_-]{0,200}\d)[\w.~+/=-]{8,}|[\w.~+/=-]{20,})
    | (?P<header>\b(?:[Pp]roxy-)?[Aa]uthorization\\{0,4}['"]?\s{0,9}[:=]\s{0,9}\\{0,4}['"]?)
      (?:[A-Za-z]+\s+)?(?!\*\*\*)[^\s'"\\,]+
    | (?P<hook>hooks\.slack\.com/[a-z]+/)[\w/]+
    | (?P<query>[?&](?i:sig|signature|x-amz-signature|code)=)(?!\*\*\*)[^\s&'"]+
    | (?P<token>(?<![A-Za-z0-9])(?:
          hf_(?:(?=[a-z]{0,200}[A-Z0-9])[A-Za-z0-9]{10,}|[A-Za-z0-9]{20,})
        | api_org_[A-Za-z0-9]{10,} | gh[pousr]_[A-Za-z0-9]{8,} | github_pat_\w{8,} | glpat-[\w-]{8,}
        | (?:AKIA|ASIA)[A-Z0-9]{12,}
        | sk-(?=[a-z_-]{0,200}[A-Z0-9])[\w-]{12,} | [rs]k_(?:live|test)_\w{8,}
        | xox[a-z]-[\w-]{8,} | xapp-[\w-]{8,}
        | eyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*)?
        | AIza[\w-]{20,} | ya29\.[\w-]{10,} | npm_[A-Za-z0-9]{20,} | pypi-[\w-]{20,} | dapi[0-9a-f]{20,}
        | nvapi-[\w-]{10,} | gsk_[A-Za-z0-9]{20,} | r8_[A-Za-z0-9]{20,} | SG\.[\w-]{10,}\.[\w-]{10,}
      ))
    """,
    re.VERBOSE | re.DOTALL,
)
_SHAPE_HINTS = (
    *("-----BEGIN", "://", "earer", "uthorization", "slack.com", "sig", "Sig", "code=", "hf_", "org_"),
    *("gh", "pat_", "AKIA", "ASIA", "sk-", "k_live", "k_test", "xox", "xapp", "eyJ", "AIza", "ya29"),
    *("npm_", "pypi-", "dapi", "nvapi", "gsk_", "r8_", "SG."),
)
"""Pieces of which every text with a shape has one. Looking for them is 50 times faster than the expression."""
_NAME_HINTS = ("key", "token", "secret", "pass", "pwd", "pat", "auth", "cred", "cookie", "jwt", "bearer")
"""Pieces of which every secret name has one, in lower case."""
_PAIR = re.compile(
    rf"""
      (?<![\w.-])(?:
          (?P<quote>['"])(?P<word>{_NAME})=(?!\*\*\*)(?:(?!(?P=quote)).)+  # as a shell quotes it
        | (?P<lead>(?P<flag>--?(?P<option>{_NAME})[ =]\s{{0,9}})
                 | \\{{0,4}}['"](?P<key>{_NAME})\\{{0,4}}['"]\s{{0,9}}(?::|=>?|,)\s{{0,9}}
                 | (?P<name>{_NAME})(?P<sign>\s{{0,9}}=>?\s{{0,9}}|\s{{0,9}}:\s+)
          ){_VALUE}
      )
    """,
    re.VERBOSE,
)


@lru_cache(maxsize=4096)
def looks_secret(name: str) -> bool:
    """Return whether a variable or parameter is a secret by its name, such as ``HF_TOKEN`` or ``apiKey``."""
    parts = [part.upper() for part in _PARTS.findall(name)]
    if not parts or parts[-1] in _HARMLESS_LAST or parts in (["PWD"], ["OLDPWD"]):
        return False
    if any(part in _ANYWHERE or (part.endswith(_ENDINGS) and part != "TOKEN") for part in parts):
        return True
    while len(parts) > 1 and (parts[-1].isdigit() or (parts[-1] in _AFTER and parts[-2:] != ["TOKEN", "ID"])):
        parts.pop()
    return parts[-1] in _LAST and not (len(parts) > 1 and parts[-2] in _HARMLESS_BEFORE)


def masked(text: str) -> str:
    """Mask secrets in free text: credentials in URLs, tokens of known shape, and values of secret names."""
    if any(hint in text for hint in _SHAPE_HINTS):
        text = _SHAPES.sub(_without_value, text)
    lower = text.lower()
    return _PAIR.sub(_without_pair, text) if any(hint in lower for hint in _NAME_HINTS) else text


def masked_variable(name: str, value: str) -> str:
    """Return the value of a variable or parameter as it may be recorded."""
    if not looks_secret(name) or value.strip().lower() in _SWITCHES:
        return masked(value)
    return value if is_mask(value) else MASK


def is_mask(value: str) -> bool:
    """Return whether a value is a mask, also a numbered one."""
    return _IS_MASK.fullmatch(value) is not None


def _without_value(match: re.Match[str]) -> str:
    if match["url"]:
        return f"{MASK}@"
    kept = match["bearer"] or match["header"] or match["hook"] or match["query"] or ""
    return f"{kept}{MASK}"


def _without_pair(match: re.Match[str]) -> str:
    name = match["word"] or match["option"] or match["key"] or match["name"]
    lead = match["lead"] or f"{match['quote']}{name}="
    value = match[0].removeprefix(lead)
    prose = (match["sign"] or "").strip() == ":" and not _is_compound(name)
    if prose or not looks_secret(name) or value.strip("\\'\"").lower() in _SWITCHES:
        return match[0]
    marks = value[: len(value) - len(value.lstrip("\\'\""))]
    closing = value[len(value.rstrip("\\'\"")) :] if marks and len(value) > len(marks) else ""
    return f"{lead}{marks}{MASK}{closing}"


def _is_compound(name: str) -> bool:
    """Return whether a name before a colon is more than the words key and token, which also occur in prose."""
    return name.upper() not in ("KEY", "TOKEN", "PASS", "AUTH") and not name.endswith("Error")


class KnownSecrets:
    """Values of secrets, masked wherever they occur, since a text may contain them without their name."""

    def __init__(self, variables: Mapping[str, str], values: Iterable[str] = ()) -> None:
        """Collect the values of variables with secret names, and further values."""
        named = (value for name, value in variables.items() if masked_variable(name, value) != value)
        pieces = {piece for value in (*named, *values) for piece in _pieces(value)}
        pattern = "|".join(map(re.escape, sorted(pieces, key=len, reverse=True)))
        self._pattern = re.compile(pattern) if pattern else None

    def masked(self, text: str) -> str:
        """Mask these values, and everything else that looks like a secret."""
        return masked(self._pattern.sub(MASK, text) if self._pattern else text)


def _pieces(value: str) -> list[str]:
    """Return the forms in which a value occurs: as it is, in a URL, and each line, since a text may be cut."""
    passwords = (part.rpartition(":")[2] for part in _USER_INFO.findall(value))
    forms = (value, value.strip(), quote(value, safe=""), *value.splitlines(), *passwords)
    return [form for form in forms if len(form) >= LEAST_KNOWN_CHARS and not _IS_MASK.fullmatch(form)]
