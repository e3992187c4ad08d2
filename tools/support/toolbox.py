"""The seven services as LangChain tools over a world's session factory, for one contact.

Whatever arguments a model sends, the answer is readable: nothing is raised but bugs and a broken database. The content
is the answer in words, the artifact an ``Answer`` (``None`` when the arguments named no operation or no customer).
"""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Final

from langchain_core.tools import BaseTool
from langchain_core.tools.base import ArgsSchema
from pydantic import PrivateAttr

from db.support_world import OpenSession
from tools.support.desk import SERVICES, Desk, FaultKind
from tools.support.results import Answer, Inquiry, Operation, Service
from tools.support.schemas import SCHEMAS, json_schema

TOOLS: Final[Mapping[Service, str]] = {
    "order": "invoke_order_service",
    "refund": "invoke_refund_service",
    "customer": "invoke_customer_service",
    "auth": "invoke_auth_service",
    "logistics": "invoke_logistics_service",
    "inventory": "invoke_inventory_service",
    "knowledge": "invoke_knowledge_base",
}
"""Service -> its tool's name, which is also its action's in the casework environment."""

Told = tuple[str, Answer | None]

_DIGITS: Final = re.compile(r"\d+")
_LARGEST: Final = 2**31


def build_support_tools(
    sessions: OpenSession, contact: str, faults: Mapping[Service, FaultKind] | None = None
) -> list[BaseTool]:
    """The tools of one contact, in the order of ``TOOLS``; proofs of identity hold for this contact alone."""
    desk = Desk(sessions, faults)
    return [_tool(service, name, desk, contact) for service, name in TOOLS.items()]


class ServiceTool(BaseTool):
    """A tool whose answer never depends on a validation error; runs in the caller's thread."""

    _answer: Callable[[dict[str, str]], Told] = PrivateAttr()

    @property
    def tool_call_schema(self) -> ArgsSchema:
        """What models are told: LangChain would build a class per instance, and drop ``additionalProperties``."""
        return json_schema(self.name)

    def _run(self, /, **arguments: str) -> Told:
        return self._answer(arguments)

    async def _arun(self, /, **arguments: str) -> Told:
        return self._answer(arguments)


def _tool(service: Service, name: str, desk: Desk, contact: str) -> ServiceTool:
    schema = SCHEMAS[name]
    tool = ServiceTool(
        name=name, description=schema.__doc__ or "", args_schema=schema, response_format="content_and_artifact"
    )
    tool._answer = lambda arguments: _call(service, desk, contact, arguments)
    return tool


def _call(service: Service, desk: Desk, contact: str, arguments: Mapping[str, str]) -> Told:
    known = [operation for operation, (owner, _) in SERVICES.items() if owner == service]
    wanted = arguments.get("operation", "").strip().lower() if len(known) > 1 else known[0]
    if wanted not in known:
        return f"Refused: '{wanted[:30]}' is no operation here; there are {', '.join(known)}.", None
    customer = _number(arguments.get("customer", ""))
    if customer is None and service != "knowledge":
        return "Refused: name the customer by number or e-mail address.", None
    inquiry = Inquiry(
        contact=contact,
        customer_id=customer or 0,
        order_id=_number(arguments.get("order", "")),
        pin=arguments.get("pin") or None,
        code=arguments.get("code") or None,
        amount_cents=_cents(arguments.get("amount", "")),
        address=arguments.get("address") or None,
        email=arguments.get("email") or None,
        words=tuple(arguments.get("words", "").split()),
    )
    answer = desk.call(Operation(wanted), inquiry)
    return answer.text, answer


def _number(text: str) -> int | None:
    """The first number in ``text``: ``customer-000123@example.com`` is 123."""
    found = _DIGITS.search(text)
    number = int(found[0][:12]) if found else 0
    return number if 0 < number < _LARGEST else None


def _cents(text: str) -> int | None:
    try:
        amount = Decimal(text.strip().lstrip("$€£").replace(",", "."))
    except InvalidOperation:
        return None
    return int(amount * 100) if amount.is_finite() and 0 < amount < _LARGEST // 100 else None
