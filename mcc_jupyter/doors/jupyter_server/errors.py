"""What goes wrong → a status, a code and one line (SPEC 14). No text repeats what a client sent."""

from __future__ import annotations

from tornado import web

from ...core import errors

CODES = {
    400: "bad-request",
    401: "unauthenticated",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    413: "too-large",
    415: "media-type",
    500: "internal",
}
"""For statuses that Jupyter or Tornado give."""

_STATUSES = {
    kind.code: kind.http_status
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.MccError)
}


class ApiError(web.HTTPError):
    """An answer that is an error: *status*, a stable *code* for programs, one line *text* for people."""

    def __init__(self, status: int, code: str, text: str) -> None:
        super().__init__(status, "%s", text)
        self.code = code
        self.text = text


def of_kernel(code: object, text: object) -> ApiError:
    """The error that a kernel gave. A code that is not known is one of a newer kernel: the kernel's fault, 502."""
    code = str(code)
    return ApiError(_STATUSES.get(code, 502), code, str(text))


def unknown_kernel() -> ApiError:
    """The same for a kernel that is not there and for one of somebody else."""
    return ApiError(404, "unknown-kernel", "there is no such kernel; GET /mcc/api/kernels lists yours")


def unknown_tool() -> ApiError:
    """The same for a tool that is not there and for one of other groups."""
    return ApiError(404, errors.UnknownTool.code, "the kernel has no such tool for you; GET …/tools lists yours")


def unknown_call() -> ApiError:
    return ApiError(404, "unknown-call", "there is no such call, or it is too long ago; GET …/calls lists yours")


def kernel_ended() -> ApiError:
    return ApiError(409, "kernel-ended", "the kernel ended or was restarted; start it and call again")


def no_answer(seconds: float) -> ApiError:
    text = f"the kernel did not answer in {seconds:g} s; it may be busy in code that cannot be interrupted, try again"
    return ApiError(504, "no-answer", text)


def not_understood() -> ApiError:
    return ApiError(502, "not-understood", "the kernel's answer is none that this server understands; update both")
