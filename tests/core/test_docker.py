"""``docker run`` by name: no value in an argv or a file, also as docker itself sees it (SPEC 9.6)."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from mcc_jupyter.core import docker
from mcc_jupyter.core.errors import ArgumentError
from mcc_jupyter.core.policy import resolve
from mcc_jupyter.core.resolution import Context, Resolution
from mcc_jupyter.core.tool import Tool

VALUE = "n0t-f0r-any-eyes-4711"
PARENT = {"PATH": "/usr/bin:/bin", "HOME": "/home/ana", "TOKEN": VALUE, "OTHER": VALUE}
Resolve = Callable[..., Resolution]

STUB = """\
#!{python} -IS
import json, os, sys
json.dump([sys.argv[1:], dict(os.environ)], open("{seen}", "w"))
"""


@pytest.fixture
def resolved(one: Callable[..., Tool]) -> Resolve:
    """``resolved(fields, parent)``: the environment of one tool."""

    def run(fields: Mapping[str, object], parent: Mapping[str, str] = PARENT) -> Resolution:
        tool = one({"name": "t", "exec": "x", **fields}, parent=dict(parent))
        return resolve(tool, parent=parent, floor=("PATH", "HOME"), context=Context({"MCC_CTX_STEP": "2"}))

    return run


def test_docker_sees_names_in_its_argv_and_values_in_its_own_environment_alone(resolved: Resolve, tmp_path: Path) -> None:
    parent = {**PARENT, "PATH": f"{tmp_path}:/usr/bin:/bin"}
    resolution = resolved({"required_env": ["TOKEN"], "env": {"MODE": "${OTHER}"}}, parent)
    seen = tmp_path / "seen.json"
    (tmp_path / "docker").write_text(STUB.format(python=sys.executable, seen=seen))
    (tmp_path / "docker").chmod(0o755)
    before = sorted(tmp_path.iterdir())
    argv = docker.run("server:1", ["--port", "80"], resolution=resolution, options=["-p", "80:80"])
    subprocess.run(argv, env=resolution.environ(), executable=str(tmp_path / "docker"), check=True)
    words, environ = json.loads(seen.read_text())
    assert words == ["run", "--rm", "-i", "-e", "MCC_CTX_STEP", "-e", "MODE", "-e", "TOKEN", "-p", "80:80", "server:1", "--port", "80"]
    assert set(environ) - {"LC_CTYPE"} == {"PATH", "HOME", "TOKEN", "MODE", "MCC_CTX_STEP"}
    assert (environ["TOKEN"], environ["MODE"]) == (VALUE, VALUE)
    assert sorted(tmp_path.iterdir()) == sorted([*before, seen])


def test_the_floor_and_a_functions_path_stay_outside(one: Callable[..., Tool]) -> None:
    tool = one({"fn": "json:loads", "required_env": ["TOKEN"]}, parent=PARENT)
    assert docker.names(resolve(tool, parent=PARENT, floor=("PATH", "HOME"))) == ("TOKEN",)


@pytest.mark.parametrize(
    ("fields", "arguments", "message"),
    [
        ({}, {"options": ["-e", "A"]}, "the option -e would bring variables past the tool's environment; declare them with `env` or `required_env`"),
        ({}, {"options": [f"-eA={VALUE}"]}, "the option -e would bring variables past the tool's environment; declare them with `env` or `required_env`"),
        ({}, {"options": [f"--env=A={VALUE}"]}, "the option --env would bring variables past the tool's environment; declare them with `env` or `required_env`"),
        ({}, {"options": ["--env-file", "f"]}, "the option --env-file would bring variables past the tool's environment; declare them with `env` or `required_env`"),
        ({}, {"image": "--privileged"}, "`--privileged` is no image; write its name and tag"),
        ({}, {"image": ""}, "`` is no image; write its name and tag"),
        ({"env": {"DOCKER_HOST": "tcp://x"}}, {}, "DOCKER_HOST steers docker itself; set it where the notebook is started"),
        ({"secret_files": {"NETRC": "$TOKEN"}}, {}, "NETRC names a private file, which is not in the container; pass the text"),
    ],
)
def test_what_would_go_around_the_resolution_is_refused(fields, arguments, message, resolved: Resolve) -> None:
    with pytest.raises(ArgumentError) as caught:
        docker.run(**{"image": "i", "resolution": resolved(fields), **arguments})
    assert str(caught.value) == f"docker: {message}"
