"""The extension is enabled by installation, and tells the server of itself (SPEC 13.1)."""

from __future__ import annotations

import json
import tomllib
from importlib.metadata import distribution, entry_points
from pathlib import Path

import mcc_jupyter
from mcc_jupyter.doors.jupyter_server.app import MccServer

REPOSITORY = Path(__file__).resolve().parents[3]


def test_the_file_that_enables_it_is_installed_where_the_server_looks() -> None:
    shared = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    (source,) = [source for source, target in shared.items() if target == "etc/jupyter/jupyter_server_config.d/mcc_jupyter.json"]
    installed = [file for file in distribution("mcc-jupyter").files or [] if file.as_posix().endswith("jupyter_server_config.d/mcc_jupyter.json")]

    assert json.loads((REPOSITORY / source).read_text()) == {"ServerApp": {"jpserver_extensions": {"mcc_jupyter": True}}}
    assert [json.loads(Path(str(file.locate())).read_text()) for file in installed] == [json.loads((REPOSITORY / source).read_text())]


def test_the_package_tells_the_server_of_its_extension() -> None:
    assert mcc_jupyter._jupyter_server_extension_points() == [{"module": "mcc_jupyter", "app": MccServer}]
    assert [point.value for point in entry_points(group="jupyter_client.kernel_provisioners", name="mcc-jupyter")] == ["mcc_jupyter.doors.kernel_provisioner:MccProvisioner"]
