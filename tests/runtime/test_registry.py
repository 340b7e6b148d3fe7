"""SPEC 2.5, sentence by sentence: which declaration replaces which."""

from __future__ import annotations

import threading

import pytest

from mcc_jupyter.core.errors import Problem, UnknownTool
from mcc_jupyter.core.tool import Origin, Shell, Text, Tool
from mcc_jupyter.runtime.registry import Registry


def cell(cell_id: str | None, label: str = "cell", run: str | None = None) -> Origin:
    return Origin("cell", label, cell_id, run)


def file(path: str) -> Origin:
    return Origin("file", path, f"/abs/{path}")


def tool(name: str, origin: Origin, *groups: str) -> Tool:
    return Tool(name=name, body=Shell("true", "true"), origin=origin, cwd=Text("/", "/"), groups=groups or ("public",))


def declare(registry: Registry, origin: Origin, *names: str, complete: bool = True) -> tuple[list[str], list[Problem]]:
    return registry.put([tool(name, origin) for name in names], origin, complete=complete)


def keys(registry: Registry) -> list[str]:
    return [item.key for item in registry]


def test_re_running_a_cell_replaces_its_tools_and_says_nothing() -> None:
    registry = Registry()
    assert declare(registry, cell("c1"), "a", "b") == ([], [])
    first = registry.find("a")
    assert declare(registry, cell("c1"), "a", "b") == ([], [])
    assert keys(registry) == ["public.a", "public.b"]
    assert registry.find("a") is not first
    assert len(registry) == 2


def test_a_tool_that_left_an_edited_cell_goes_too() -> None:
    registry = Registry()
    declare(registry, cell("c1"), "a", "b")
    declare(registry, cell("c2"), "other")
    assert declare(registry, cell("c1"), "b", "c") == ([], [])
    assert keys(registry) == ["public.b", "public.other", "public.c"]
    with pytest.raises(UnknownTool):
        registry.find("a")


def test_where_there_are_no_cell_ids_only_equal_names_are_replaced() -> None:
    registry = Registry()
    declare(registry, cell(None), "a", "b")
    assert declare(registry, cell(None), "b", "c") == ([], [])
    assert keys(registry) == ["public.a", "public.b", "public.c"]


def test_a_later_cell_with_the_same_key_replaces_with_a_notice_that_names_both() -> None:
    registry = Registry()
    declare(registry, cell("c1", "cell 3"), "a")
    assert declare(registry, cell("c2", "cell 7"), "a") == (
        ["public.a: replaces the declaration from an earlier cell (cell 3) by this one (cell 7)"],
        [],
    )
    assert registry.find("a").origin.label == "cell 7"


@pytest.mark.parametrize("later", [cell("c1"), cell("c2")])
def test_another_tool_with_the_same_key_is_replaced_with_a_notice_that_says_so(later: Origin) -> None:
    registry = Registry()
    registry.put([tool("b.c", cell("c1"), "a")], cell("c1"), complete=True)
    notices, problems = registry.put([tool("c", later, "a", "b")], later, complete=True)
    assert (notices[-1], problems) == ("a.b.c: replaces another tool, 'b.c' of a; rename one", [])
    assert len(notices) == (1 if later.id == "c1" else 2)
    again = registry.put([tool("c", later, "b", "a")], later, complete=True)
    assert again == ([], [])


@pytest.mark.parametrize("name", [5, None, 1.5])
def test_what_is_no_name_is_an_unknown_tool(name: object) -> None:
    registry = Registry()
    declare(registry, cell("c1"), "a")
    with pytest.raises(UnknownTool) as caught:
        registry.find(name)  # type: ignore[arg-type]
    assert str(caught.value) == f"No tool {name!r} is declared here; run the cell that declares it"


def test_a_cell_that_lost_its_key_to_another_does_not_take_it_along_when_it_is_edited() -> None:
    registry = Registry()
    declare(registry, cell("c1"), "a")
    declare(registry, cell("c2"), "a")
    declare(registry, cell("c1"), "b")
    assert keys(registry) == ["public.a", "public.b"]


def test_a_cell_replaces_a_file_and_a_file_a_cell_with_a_notice() -> None:
    registry = Registry()
    declare(registry, file("tools.yaml"), "a")
    assert declare(registry, cell("c1", "cell 2"), "a")[0] == [
        "public.a: replaces the declaration from tools.yaml by the one in cell 2"
    ]
    assert declare(registry, file("tools.yaml"), "a")[0] == [
        "public.a: replaces the declaration from cell 2 by the one in tools.yaml"
    ]


def test_the_same_key_from_two_files_is_an_error_that_names_both_and_the_first_stays() -> None:
    registry = Registry()
    declare(registry, file("one.yaml"), "a")
    assert declare(registry, file("two.yaml"), "a", "b") == (
        [],
        [Problem("public.a", "declared in one.yaml and in two.yaml; rename one or give it another group")],
    )
    assert registry.find("a").origin.label == "one.yaml"
    assert keys(registry) == ["public.a", "public.b"]


def test_loading_a_file_again_replaces_its_tools_and_one_that_left_it_goes() -> None:
    registry = Registry()
    declare(registry, file("one.yaml"), "a", "b")
    assert declare(registry, file("one.yaml"), "b") == ([], [])
    assert keys(registry) == ["public.b"]
    assert declare(registry, file("two.yaml"), "a") == ([], [])


def test_a_declaration_with_errors_removes_nothing() -> None:
    registry = Registry()
    declare(registry, cell("c1"), "a", "b")
    assert declare(registry, cell("c1"), "b", complete=False) == ([], [])
    assert keys(registry) == ["public.a", "public.b"]
    assert declare(registry, cell("c1"), complete=False) == ([], [])
    assert keys(registry) == ["public.a", "public.b"]


def test_a_declaration_of_nothing_removes_what_the_cell_declared() -> None:
    registry = Registry()
    declare(registry, cell("c1"), "a")
    declare(registry, cell("c1"))
    assert keys(registry) == []


def test_after_a_whole_run_of_a_cell_what_that_run_did_not_declare_goes() -> None:
    registry = Registry()
    registry.put([tool("f", cell("c1", run="r1")), tool("g", cell("c1", run="r1"))], cell("c1"), complete=False)
    registry.put([tool("other", cell("c2", run="r1"))], cell("c2"), complete=False)
    registry.put([tool("f", cell("c1", run="r2"))], cell("c1"), complete=False)
    registry.forget_left("c1", "r2")
    assert keys(registry) == ["public.f", "public.other"]
    with pytest.raises(UnknownTool):
        registry.find("g")
    registry.forget_left("c1", "r2")
    registry.forget_left("c3", "r9")
    assert keys(registry) == ["public.f", "public.other"]


def test_a_tool_is_found_by_key_and_by_name_where_that_is_unambiguous() -> None:
    registry = Registry()
    public, ops = tool("a", cell("c1")), tool("a", cell("c1"), "ops", "dev")
    registry.put([public, ops, tool("b", cell("c1"), "ops")], cell("c1"), complete=True)
    assert registry.find("public.a") is public
    assert registry.find("ops.dev.a") is ops
    assert registry.find("b").key == "ops.b"
    with pytest.raises(UnknownTool) as caught:
        registry.find("a")
    assert str(caught.value) == "More than one tool is named 'a'; call it by key: ops.dev.a, public.a"


def test_a_key_goes_before_a_name_that_looks_like_it() -> None:
    registry = Registry()
    dotted, grouped = tool("public.a", cell("c1"), "x"), tool("a", cell("c1"))
    registry.put([dotted, grouped], cell("c1"), complete=True)
    assert registry.find("public.a") is grouped
    assert registry.find("x.public.a") is dotted


def test_an_unknown_tool_is_told_with_what_is_near() -> None:
    registry = Registry()
    with pytest.raises(UnknownTool) as caught:
        registry.find("querry")
    assert str(caught.value) == "No tool 'querry' is declared here, nor any other; run the cell that declares it"
    declare(registry, cell("c1"), "query", "upload")
    with pytest.raises(UnknownTool) as caught:
        registry.find("querry")
    assert str(caught.value) == "No tool 'querry' is declared here (did you mean `query`?); run the cell that declares it"
    with pytest.raises(UnknownTool) as caught:
        registry.find("zzzz")
    assert str(caught.value) == "No tool 'zzzz' is declared here; run the cell that declares it"


def test_removing_forgets_one_tool_by_key_or_name() -> None:
    registry = Registry()
    declare(registry, cell("c1"), "a", "b")
    assert registry.remove("a").key == "public.a"
    assert registry.remove("public.b").key == "public.b"
    assert (keys(registry), len(registry)) == ([], 0)
    with pytest.raises(UnknownTool):
        registry.remove("a")


def test_replacing_puts_a_tool_in_place_of_the_one_with_its_key_while_that_is_there() -> None:
    registry = Registry()
    declare(registry, cell("c1"), "a", "b")
    better = tool("a", cell("c1"))
    registry.replace(better)
    assert registry.find("a") is better
    assert keys(registry) == ["public.a", "public.b"]
    registry.remove("a")
    registry.replace(better)
    assert keys(registry) == ["public.b"]


def test_going_through_the_tools_stands_still_while_others_declare() -> None:
    registry = Registry()
    declare(registry, cell("c1"), "a", "b")
    seen = []
    for item in registry:
        seen.append(item.name)
        declare(registry, cell("c2"), f"new_{item.name}", "c")
    assert seen == ["a", "b"]


def test_declaring_finding_and_removing_at_once_is_safe() -> None:
    registry = Registry()
    rounds: list[int] = []

    def work(who: int) -> None:
        for at in range(200):
            declare(registry, cell(f"c{who}"), f"t{who}", f"u{who}_{at}")
            assert registry.find(f"u{who}_{at}").name == f"u{who}_{at}"
            assert [item.name for item in registry if item.name.startswith(f"u{who}_")] == [f"u{who}_{at}"]
            registry.remove(f"public.t{who}")
            with pytest.raises(UnknownTool):
                registry.find(f"t{who}")
        rounds.append(who)

    threads = [threading.Thread(target=work, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(rounds) == [0, 1, 2, 3]
    assert sorted(keys(registry)) == [f"public.u{who}_199" for who in range(4)]


def test_the_declaration_that_one_took_the_place_of_is_known() -> None:
    registry = Registry()
    declare(registry, cell("c1"), "a")
    first = registry.find("a")
    assert registry.earlier("public.a") is None
    declare(registry, cell("c1"), "a", "b")
    assert registry.earlier("public.a") is first
    assert registry.earlier("public.b") is None


def test_a_tool_that_was_removed_is_the_earlier_one_of_the_next() -> None:
    registry = Registry()
    declare(registry, cell("c1"), "a")
    first = registry.remove("a")
    declare(registry, cell("c2"), "a")
    assert registry.earlier("public.a") is first


@pytest.mark.parametrize(("complete", "origin", "known"), [(True, cell("c1"), True), (False, cell("c1"), True), (True, cell("c2"), False), (True, cell(None), False)])
def test_a_tool_of_other_groups_is_the_same_where_the_old_one_goes(complete: bool, origin: Origin, known: bool) -> None:
    registry = Registry()
    declare(registry, cell("c1"), "a")
    first = registry.find("a")
    registry.put([tool("a", origin, "ops")], origin, complete=complete)
    assert registry.earlier("ops.a") is (first if known else None)
def test_what_is_to_be_removed_and_is_not_there_is_not_told_to_be_declared() -> None:
    with pytest.raises(UnknownTool) as caught:
        Registry().remove("nope")
    assert str(caught.value) == "No tool 'nope' is declared here"
