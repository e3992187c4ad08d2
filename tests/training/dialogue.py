"""A dialogue with three tool turns, a router and a venue with a letter outside ASCII, as messages for the template."""

from langchain_core.tools import BaseTool, tool

Message = dict[str, object]


def call(name: str, /, **arguments: str) -> Message:
    """An assistant message that calls one tool."""
    function = {"name": name, "arguments": arguments}
    return {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": function}]}


def say(text: str) -> Message:
    """An assistant message that says ``text``."""
    return {"role": "assistant", "content": text}


USER_TURNS = ("i want a cheap hotel in the north .", "the south then .", "book it for 2 people .")
ANSWERS = {
    "area north": "none found",
    "area south": "1 found : hôtel félix",
    "name hôtel félix people 2": "booked hôtel félix",
}

ROUTER: list[list[Message]] = [
    [
        {"role": "system", "content": "router"},
        {"role": "user", "content": f"{active} | {text}"},
        say("hotel"),
    ]
    for active, text in zip(("none", "hotel", "hotel"), USER_TURNS, strict=True)
]

EXPERT: list[Message] = [
    {"role": "system", "content": "hotel"},
    {"role": "user", "content": USER_TURNS[0]},
    call("find_hotels", area="north"),
    {"role": "tool", "content": ANSWERS["area north"]},
    say("there is no such hotel ."),
    {"role": "user", "content": USER_TURNS[1]},
    call("find_hotels", area="south"),
    {"role": "tool", "content": ANSWERS["area south"]},
    say("{hotel.name} is in the south ."),
    {"role": "user", "content": USER_TURNS[2]},
    call("book_hotel", name="hotel felix", people="2"),
    {"role": "tool", "content": ANSWERS["name hôtel félix people 2"]},
    say("it is booked ."),
]

DIALOGUE: list[list[Message]] = [*ROUTER, EXPERT]

TEXTS = [
    *USER_TURNS,
    *ANSWERS.values(),
    "router hotel restaurant none |",
    "find_hotels book_hotel area name people",
    "there is no such hotel . {hotel.name} is in the south . it is booked . error : unreadable call no such tool",
    "zebra zoo",
]


@tool
def find_hotels(area: str = "") -> str:
    """Find hotels."""
    return ANSWERS[f"area {area}"]


@tool
def book_hotel(name: str = "", people: str = "") -> str:
    """Book a hotel."""
    return f"booked {name}"


TOOLS: list[BaseTool] = [find_hotels, book_hotel]
