"""The tools' arguments as language models see them, and lenient reading of what models send.

The JSON schema is strict (text arguments, the required ones required, nothing else), the validation is not: a number,
a boolean, ``null`` or a one-element list becomes text, a missing argument becomes empty and an unknown one is passed
on, so that the tool itself can answer in words instead of failing validation. Docstrings and descriptions are
prompts: changing one changes behaviour.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.config import JsonDict


class ToolArguments(BaseModel):
    """What the four tools' arguments have in common: they are text, whatever a model sends."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"additionalProperties": False})

    @model_validator(mode="before")
    @classmethod
    def _as_text(cls, arguments: object) -> object:
        if not isinstance(arguments, dict):
            return arguments
        texts = {str(name): _text(value) for name, value in arguments.items()}
        return dict.fromkeys(cls.model_fields, "") | texts


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and len(value) == 1:
        return _text(value[0])
    return json.dumps(value, default=str)


def _as_optional(schema: JsonDict) -> None:
    """That an argument is optional says its absence from ``required``; the default would only cost tokens."""
    schema.pop("default", None)


class FindHotels(ToolArguments):
    """Search hotels and guesthouses. Give every constraint the user has named so far, and none the user has not."""

    area: str = Field("", description="centre, east, north, south or west", json_schema_extra=_as_optional)
    pricerange: str = Field("", description="cheap, moderate or expensive", json_schema_extra=_as_optional)
    type: str = Field("", description="hotel or guesthouse", json_schema_extra=_as_optional)
    stars: str = Field("", description="number of stars, 0 to 5", json_schema_extra=_as_optional)
    internet: str = Field("", description="yes or no", json_schema_extra=_as_optional)
    parking: str = Field("", description="yes or no", json_schema_extra=_as_optional)
    name: str = Field("", description="the name of one place", json_schema_extra=_as_optional)


class BookHotel(ToolArguments):
    """Book rooms at one hotel or guesthouse. Call only when the user wants a booking and all four are known."""

    name: str = Field(description="the name of the hotel or guesthouse")
    people: str = Field(description="number of people, 1 to 8")
    day: str = Field(description="day of arrival, monday to sunday")
    stay: str = Field(description="number of nights, 1 to 7")


class FindRestaurants(ToolArguments):
    """Search restaurants. Give every constraint the user has named so far, and none the user has not."""

    area: str = Field("", description="centre, east, north, south or west", json_schema_extra=_as_optional)
    pricerange: str = Field("", description="cheap, moderate or expensive", json_schema_extra=_as_optional)
    food: str = Field("", description="cuisine, for example indian or modern european", json_schema_extra=_as_optional)
    name: str = Field("", description="the name of one restaurant", json_schema_extra=_as_optional)


class BookTable(ToolArguments):
    """Book a table at one restaurant. Call only when the user wants a booking and all four are known."""

    name: str = Field(description="the name of the restaurant")
    people: str = Field(description="number of people, 1 to 8")
    day: str = Field(description="day, monday to sunday")
    time: str = Field(description="time on the quarter hour, HH:MM, 24-hour clock")


SCHEMAS: Final[Mapping[str, type[ToolArguments]]] = {
    "find_hotels": FindHotels,
    "book_hotel": BookHotel,
    "find_restaurants": FindRestaurants,
    "book_table": BookTable,
}
"""Tool name -> its arguments."""


@cache
def json_schema(tool: str) -> dict[str, object]:
    """The JSON schema of ``tool``'s arguments, made once per process: pydantic makes a new one every time."""
    return SCHEMAS[tool].model_json_schema()
