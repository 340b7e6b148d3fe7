"""A resolution → ``docker run`` that hands variables on by name (SPEC 9.6).

1. ``-e NAME`` without a value: docker takes the value from the environment of its own command line, so that none is in
   an argv or in a file.
2. The container gets what the tool asked for. The floor, which describes this machine, stays with docker itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from .errors import ArgumentError
from .resolution import Resolution, Source

_OURS = ("-e", "--env", "--env-file")
_OF_DOCKER = ("DOCKER_HOST", "DOCKER_CONFIG", "DOCKER_CONTEXT", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY")
"""Variables that docker's own command line obeys: as a tool's they would decide where its values go."""


def names(resolution: Resolution) -> tuple[str, ...]:
    """The variables that go into the container, sorted: all but the floor and the path of a function's modules."""
    bindings = resolution.bindings.values()
    kept = (binding.name for binding in bindings if binding.provenance.source not in (Source.FLOOR, Source.RUNTIME))
    return tuple(sorted(kept))


def _attached(option: str, own: str) -> bool:
    """Whether *option* is a short one with its argument in the same word."""
    return len(own) == 2 and option.startswith(own)


def run(
    image: str,
    command: Sequence[str] = (),
    *,
    resolution: Resolution,
    options: Sequence[str] = (),
    program: str = "docker",
) -> tuple[str, ...]:
    """The argv of a container from *image*, which is removed at its end and reads our input.

    It is to be started with ``resolution``'s environment. *options* are further ones of ``docker run``. Raises
    ``ArgumentError`` for options that would bring variables past the resolution, for names that docker itself obeys,
    and for private files, which are not in the container.
    """
    for option in options:
        # Of what stands behind the option nothing is shown: it may be a value.
        found = next((own for own in _OURS if option.partition("=")[0] == own or _attached(option, own)), None)
        if found is not None:
            raise ArgumentError(
                f"docker: the option {found} would bring variables past the tool's environment; declare them with "
                "`env` or `required_env`"
            )
    if not image or image.startswith("-"):
        raise ArgumentError(f"docker: `{image}` is no image; write its name and tag")
    passed = names(resolution)
    for name in passed:
        if name in _OF_DOCKER:
            raise ArgumentError(f"docker: {name} steers docker itself; set it where the notebook is started")
        if resolution.bindings[name].provenance.source is Source.SECRET:
            raise ArgumentError(f"docker: {name} names a private file, which is not in the container; pass the text")
    flags = [word for name in passed for word in ("-e", name)]
    return (program, "run", "--rm", "-i", *flags, *options, image, *command)
