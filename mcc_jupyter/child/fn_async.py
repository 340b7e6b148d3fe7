"""Awaits what a function returned: coroutines, other awaitables, asynchronous generators (SPEC 7.3)."""

import asyncio
from typing import Any


def finish(value: Any, most: Any, trouble: Any) -> Any:
    """The value behind *value*; of an asynchronous generator at most *most* items, then *trouble*."""

    async def wait(value: Any) -> Any:
        while hasattr(type(value), "__await__"):
            value = await value
        if not hasattr(type(value), "__aiter__"):
            return value
        items: "list[Any]" = []
        async for item in value:
            if len(items) == most:
                raise trouble("result", f"the tool yielded more than {most:,} items; return fewer")
            items.append(item)
        return items

    return asyncio.run(wait(value))
