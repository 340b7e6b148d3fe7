"""Calls one Python function, or describes several, in a tool's own interpreter and environment (SPEC 2.8, 4.7, 7.3).

1. Standard library only, Python 3.8 and newer, started by its path. The request comes on descriptor 9, answers leave
   on 8.
2. Its own folder leaves ``sys.path`` first, and the tool's ``PYTHONPATH`` comes behind the standard library last: a
   ``json.py`` beside the notebook, or beside this file, breaks nothing.
3. A script is compiled anew at every start, a module is not. So this file only finds the others.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

if __name__ == "__main__":
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]

    from _frozen_importlib_external import SourceFileLoader

    def load(name: str) -> "Any":
        """The module *name* of this folder; in ``sys.modules`` under a private name."""
        private = f"_mcc_{name}"
        if private not in sys.modules:
            module = type(sys)(private)
            module.__file__ = path = f"{__file__.rpartition('/')[0] or '.'}/{name}.py"
            code: "Any" = SourceFileLoader(private, path).get_code(private)
            exec(code, vars(module))
            sys.modules[private] = module
        return sys.modules[private]

    sys.exit(load("fn_call").main(load))
