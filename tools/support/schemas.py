"""The arguments of the seven service tools as language models see them. Docstrings and descriptions are prompts."""

from collections.abc import Mapping
from functools import cache
from typing import Final

from pydantic import Field
from pydantic.config import JsonDict

from tools.schemas import ToolArguments


def _as_optional(schema: JsonDict) -> None:
    """That an argument is optional says its absence from ``required``; the default would only cost tokens."""
    schema.pop("default", None)


_CUSTOMER: Final = "the customer's number or e-mail address"
_ORDER: Final = "the order's number"


class InvokeOrderService(ToolArguments):
    """Find a customer's order (the latest, when no number is known), or cancel one that has not been sent."""

    operation: str = Field(description="find_order or cancel_order")
    customer: str = Field(description=_CUSTOMER)
    order: str = Field("", description=_ORDER, json_schema_extra=_as_optional)


class InvokeRefundService(ToolArguments):
    """Read a refund, or give money back once, inside 30 days of delivery, after the identity has been verified."""

    operation: str = Field(description="read_refund, refund_full or refund_part")
    customer: str = Field(description=_CUSTOMER)
    order: str = Field(description=_ORDER)
    amount: str = Field("", description="for refund_part, such as 12.50", json_schema_extra=_as_optional)


class InvokeCustomerService(ToolArguments):
    """Read or change a customer's data, after the identity has been verified; e-mail needs the second factor too."""

    operation: str = Field(description="read_profile, change_address or change_email")
    customer: str = Field(description=_CUSTOMER)
    address: str = Field("", description="the new address", json_schema_extra=_as_optional)
    email: str = Field("", description="the new e-mail address", json_schema_extra=_as_optional)


class InvokeAuthService(ToolArguments):
    """Verify who the customer is (PIN), confirm the second factor (code), unlock an account, reset a password."""

    operation: str = Field(
        description="verify_identity, confirm_second_factor, unlock_account, reset_password or read_sign_ins"
    )
    customer: str = Field(description=_CUSTOMER)
    pin: str = Field("", description="for verify_identity: the four digits said", json_schema_extra=_as_optional)
    code: str = Field("", description="for confirm_second_factor: six digits", json_schema_extra=_as_optional)


class InvokeLogisticsService(ToolArguments):
    """Track a parcel, have the carrier search for a lost one, or send one on its way to another address."""

    operation: str = Field(description="track_shipment, open_trace or redirect_shipment")
    customer: str = Field(description=_CUSTOMER)
    order: str = Field(description=_ORDER)
    address: str = Field("", description="for redirect_shipment", json_schema_extra=_as_optional)


class InvokeInventoryService(ToolArguments):
    """Check the stock of a product (its model, or an order's), or reserve a replacement for an order."""

    operation: str = Field(description="check_stock or reserve_unit")
    customer: str = Field(description=_CUSTOMER)
    order: str = Field("", description=_ORDER, json_schema_extra=_as_optional)
    words: str = Field("", description="a product's model", json_schema_extra=_as_optional)


class InvokeKnowledgeBase(ToolArguments):
    """Search the shop's articles for all of the words."""

    words: str = Field(description="product, model and problem, or an error code, or a policy")


SCHEMAS: Final[Mapping[str, type[ToolArguments]]] = {
    "invoke_order_service": InvokeOrderService,
    "invoke_refund_service": InvokeRefundService,
    "invoke_customer_service": InvokeCustomerService,
    "invoke_auth_service": InvokeAuthService,
    "invoke_logistics_service": InvokeLogisticsService,
    "invoke_inventory_service": InvokeInventoryService,
    "invoke_knowledge_base": InvokeKnowledgeBase,
}
"""Tool name -> its arguments."""


@cache
def json_schema(tool: str) -> dict[str, object]:
    """The JSON schema of ``tool``'s arguments, made once per process."""
    return SCHEMAS[tool].model_json_schema()
