"""The thirteen things an agent can do. Ids and names are fixed: models are trained on them."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from tools.support.results import Service


class Action(IntEnum):
    """An action's id; its name in lower case is what texts call it."""

    INVOKE_ORDER_SERVICE = 0
    INVOKE_REFUND_SERVICE = 1
    INVOKE_CUSTOMER_SERVICE = 2
    INVOKE_AUTH_SERVICE = 3
    INVOKE_LOGISTICS_SERVICE = 4
    INVOKE_INVENTORY_SERVICE = 5
    INVOKE_KNOWLEDGE_BASE = 6
    RESOLVE_QUERY = 7
    REQUEST_CUSTOMER_INFORMATION = 8
    ROUTE_TO_BILLING_DEPARTMENT = 9
    ROUTE_TO_TECHNICAL_SUPPORT = 10
    ESCALATE_TO_HUMAN_AGENT = 11
    CONSULT_LLM = 12

    @property
    def label(self) -> str:
        """``invoke_order_service`` and so on."""
        return self.name.lower()


SERVICE_OF: Final[Mapping[Action, Service]] = {
    Action.INVOKE_ORDER_SERVICE: "order",
    Action.INVOKE_REFUND_SERVICE: "refund",
    Action.INVOKE_CUSTOMER_SERVICE: "customer",
    Action.INVOKE_AUTH_SERVICE: "auth",
    Action.INVOKE_LOGISTICS_SERVICE: "logistics",
    Action.INVOKE_INVENTORY_SERVICE: "inventory",
    Action.INVOKE_KNOWLEDGE_BASE: "knowledge",
}
ACTION_OF: Final[Mapping[Service, Action]] = {service: action for action, service in SERVICE_OF.items()}

TERMINAL: Final = frozenset(
    {
        Action.RESOLVE_QUERY,
        Action.REQUEST_CUSTOMER_INFORMATION,
        Action.ROUTE_TO_BILLING_DEPARTMENT,
        Action.ROUTE_TO_TECHNICAL_SUPPORT,
        Action.ESCALATE_TO_HUMAN_AGENT,
    }
)
"""They end the case."""

MAX_STEPS: Final = 10
"""After which a case that has not been closed is taken away."""
