"""The services as language models meet them."""

from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from db.support_world import SupportWorld
from tests.tools.support.conftest import PLAIN, Find
from tests.tools.support.denials import IN_WINDOW
from tools.support.desk import SERVICES
from tools.support.results import Answer, Denial
from tools.support.toolbox import TOOLS, build_support_tools


def ask(shop: SupportWorld, name: str, arguments: Mapping[str, object], contact: str = "test") -> ToolMessage:
    tool = next(each for each in build_support_tools(shop.sessions, contact) if each.name == name)
    message = tool.invoke({"name": name, "args": dict(arguments), "id": "1", "type": "tool_call"})
    assert isinstance(message, ToolMessage)
    return message


def test_models_see_seven_tools_and_every_operation(shop: SupportWorld):
    functions = [convert_to_openai_tool(tool)["function"] for tool in build_support_tools(shop.sessions, "test")]
    assert [function["name"] for function in functions] == list(TOOLS.values())
    described = " ".join(
        each.get("description", "") for function in functions for each in function["parameters"]["properties"].values()
    )
    for operation, (service, _) in SERVICES.items():
        assert operation in described or service == "knowledge"
    assert all(function["parameters"]["additionalProperties"] is False for function in functions)


def test_a_refund_by_tools_needs_the_pin(shop: SupportWorld, find: Find):
    inquiry = find(f"{IN_WINDOW} AND {PLAIN}")
    who = {"customer": f"customer-{inquiry.customer_id:06d}@example.com"}
    found = ask(shop, "invoke_order_service", {"operation": "find_order"} | who)
    assert str(inquiry.order_id) in found.text
    refund = {"operation": "refund_part", "order": f"#{inquiry.order_id}", "amount": "1,50", **who}
    assert "identity" in ask(shop, "invoke_refund_service", refund).text
    ask(shop, "invoke_auth_service", {"operation": "verify_identity", "pin": inquiry.pin} | who)
    assert "identity" in ask(shop, "invoke_refund_service", refund, contact="another").text
    done = ask(shop, "invoke_refund_service", refund)
    assert done.text.startswith("1.50 refunded")
    assert isinstance(done.artifact, Answer)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("invoke_order_service", {"operation": "refund_full", "customer": "5"}, "find_order, cancel_order"),
        ("invoke_order_service", {"operation": "find_order"}, "name the customer"),
        ("invoke_knowledge_base", {}, "not said"),
        ("invoke_auth_service", {"operation": "verify_identity", "customer": 999999, "pin": 1}, "no such customer"),
    ],
)
def test_a_wrong_argument_is_answered_in_words(shop: SupportWorld, name: str, arguments: dict[str, object], said: str):
    assert said in ask(shop, name, arguments).text


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(list(TOOLS.values())),
    operation=st.sampled_from([*SERVICES, "", "drop"]),
    arguments=st.dictionaries(
        st.sampled_from(["customer", "order", "pin", "code", "amount", "address", "email", "words", "other"]),
        st.none() | st.text(max_size=20) | st.integers() | st.floats() | st.lists(st.text(max_size=3), max_size=2),
    ),
)
def test_no_argument_breaks_a_tool_or_changes_anything(
    shop: SupportWorld, name: str, operation: str, arguments: dict[str, object]
):
    answer = ask(shop, name, {"operation": operation} | arguments)
    assert answer.text
    if isinstance(answer.artifact, Answer) and answer.artifact.outcome == "refused":
        assert answer.artifact.denial in set(Denial)
