"""A rule-based expert behind the chat-model interface: the ceiling for trained policies, and their teacher.

It answers router calls and expert calls from the messages alone, as any model would: what the user said so far, what
the tools answered. Its next step is a plain function of what is visible, its sentences are few and closed, and the
values in its calls are the user's own words, in a fixed order of slots, so that a very small model can learn it.

It offers the first match at once, asks nothing that it does not need, and answers everything it was asked in one reply.
``piecemeal`` it answers one thing at a time, so that the user has to ask again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from agents.placeholders import Facts, fill
from agents.reading import CONSTRAINTS, DETAILS, SAME, Reading, named_domains, read
from agents.turns import Node
from tools.results import BookingResult, Domain, Refusal, RefusalReason, SearchResult

FIND: dict[Domain, str] = {"hotel": "find_hotels", "restaurant": "find_restaurants"}
BOOK: dict[Domain, str] = {"hotel": "book_hotel", "restaurant": "book_table"}

SLOT_SENTENCES = {
    "phone": "the phone number of {D.name} is {D.phone} .",
    "postcode": "the postcode of {D.name} is {D.postcode} .",
    "address": "the address of {D.name} is {D.address} .",
    "area": "the area of {D.name} is {D.area} .",
    "pricerange": "the price range of {D.name} is {D.pricerange} .",
    "type": "the type of {D.name} is {D.type} .",
    "stars": "{D.name} has {D.stars} stars .",
    "internet": "{D.name} has internet : {D.internet} .",
    "parking": "{D.name} has free parking : {D.parking} .",
    "food": "the food of {D.name} is {D.food} .",
}
QUESTIONS = {
    "people": "for how many people ?",
    "day": "on which day ?",
    "stay": "for how many nights ?",
    "time": "at what time ?",
}
OFFER = "{D.name} is available ."
NO_MATCH = "there is no such D . would you like something else ?"
BOOKED = "your booking at {D.name} is made , the reference is {D.ref} ."
REFERENCE = "the reference is {D.ref} ."
REFUSED: dict[Domain, str] = {
    "hotel": "i could not book that , it is not available . would you like another day or stay ?",
    "restaurant": "i could not book that , it is not available . would you like another day or time ?",
}
NOT_UNDERSTOOD = "i could not book that ."
GREETING = "hello , what are you looking for ?"
ANYTHING_ELSE = "is there anything else ?"
GOODBYE = "you are welcome , goodbye ."


class ScriptedModel(BaseChatModel):
    """The rule-based expert. ``placeholders`` as in ``AgentConfig``; without them it fills in the values itself."""

    placeholders: bool = True
    piecemeal: bool = False
    """Whether it tells one fact at a time, which costs exchanges and is never needed."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[object], **kwargs: object) -> "ScriptedModel":  # pyright: ignore[reportIncompatibleMethodOverride]
        """Itself: it knows its tools by heart."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.answer(messages))])

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: object = None, **kwargs: Any
    ) -> ChatResult:
        return self._generate(messages)

    def answer(self, messages: Sequence[BaseMessage]) -> AIMessage:
        """The next message after these, which start with a system prompt of ``agents/prompts``."""
        node = _node_of(messages[0])
        if node == "router":
            return AIMessage(_route(messages[-1].text))
        dialogue = _follow(node, messages[1:], self.piecemeal)
        step = dialogue.next_step()
        if isinstance(step, Step):
            arguments = dict(step.arguments)
            if self.placeholders and step.name == BOOK[node]:
                arguments["name"] = "{" + node + ".name}"
            return AIMessage(
                "",
                tool_calls=[ToolCall(name=step.name, args=arguments, id=f"call_{len(messages)}", type="tool_call")],
            )
        text = step.replace("{D.", "{" + node + ".").replace("such D", f"such {node}")
        return AIMessage(text if self.placeholders else fill(text, dialogue.facts)[0])


@dataclass(frozen=True)
class Step:
    """A decision to call a tool."""

    name: str
    arguments: dict[str, object]


@dataclass
class _Dialogue:
    """What one expert's messages add up to."""

    domain: Domain
    facts: Facts
    piecemeal: bool = False
    constraints: dict[str, str] = field(default_factory=dict)
    details: dict[str, str] = field(default_factory=dict)
    told: dict[str, str] = field(default_factory=dict)
    """Shared slots of the other expert."""
    reading: Reading = field(default_factory=Reading)
    name: str | None = None
    """The focus venue, as the last search result spells it, in lower case."""
    found: bool | None = None
    """Whether the last search found anything; ``None`` before the first."""
    booked: bool = False
    offered_booking: bool = False
    searched_now: bool = False
    outcome: str | None = None
    """How this turn's booking call ended: ``booked``, ``unavailable``, ``already_booked`` or ``failed``."""

    def hear(self, text: str) -> None:
        said, _, line = text.partition("\n")
        self.told = _shared(line) or self.told
        self.reading = read(said, self.domain)
        self.searched_now, self.outcome = False, None
        self._revise(self.reading)

    def _revise(self, reading: Reading) -> None:
        said = {slot: self._resolved(slot, value) for slot, value in reading.constraints.items()}
        if said and "name" not in said:
            self.constraints.pop("name", None)
        for slot in reading.dontcare:
            self.constraints.pop(slot, None)
        self.constraints.update({slot: value for slot, value in said.items() if value})
        details = {slot: self._resolved(slot, value) for slot, value in reading.details.items()}
        self.details.update({slot: value for slot, value in details.items() if value})

    def _resolved(self, slot: str, value: str) -> str:
        return self.told.get(slot, "") if value == SAME else value

    def next_step(self) -> "Step | str":
        if self._must_search():
            return Step(FIND[self.domain], self._search_arguments())
        if self._must_book():
            slots = [slot for slot in DETAILS[self.domain] if slot in self.details]
            return Step(BOOK[self.domain], {"name": self.name, **{slot: self.details[slot] for slot in slots}})
        return " ".join(self._reply())

    def _search_arguments(self) -> dict[str, object]:
        if "name" in self.constraints:
            return {"name": self.constraints["name"]}
        return {slot: self.constraints[slot] for slot in CONSTRAINTS[self.domain] if slot in self.constraints}

    def _must_search(self) -> bool:
        if self.searched_now or self.outcome:
            return False
        if self.reading.constraints or (self.reading.dontcare and not self.found):
            return True
        courtesy = self.reading.greets or self.reading.closes or self.reading.not_book
        return self.found is None and (self.reading.says_something or not courtesy)

    def _wants_booking(self) -> bool:
        reading = self.reading
        if reading.not_book:
            return False
        wants = reading.book or bool(reading.details) or ("ref" in reading.requests and not self.booked)
        return wants or (reading.agrees and self.offered_booking and not reading.says_something)

    def _missing(self) -> list[str]:
        return [slot for slot in DETAILS[self.domain] if slot not in self.details]

    def _must_book(self) -> bool:
        return bool(self.found and self.name and not self.outcome and self._wants_booking() and not self._missing())

    def _reply(self) -> list[str]:
        reading = self.reading
        answers = [SLOT_SENTENCES[slot] for slot in reading.requests if slot != "ref"]
        if self.found is False:
            return [NO_MATCH]
        if self.outcome:
            return [self._booking_reply(), *([] if self.piecemeal else answers)]
        if self.found and self._wants_booking():
            offer = [OFFER] if self.searched_now else []
            return [*offer, *answers, *(QUESTIONS[slot] for slot in self._missing())]
        if "ref" in reading.requests and self.booked:
            answers.append(REFERENCE)
        if self.piecemeal:
            answers = answers[:1]
        return answers or [self._small_reply()]

    def _booking_reply(self) -> str:
        if self.outcome in ("booked", "already_booked"):
            return BOOKED
        return REFUSED[self.domain] if self.outcome == "unavailable" else NOT_UNDERSTOOD

    def _small_reply(self) -> str:
        """When nothing was asked: offer what there is, or be polite."""
        if self.searched_now or (self.found and (self.reading.choose or not self.booked) and not self._is_courtesy()):
            return OFFER
        if self.reading.closes:
            return GOODBYE
        return GREETING if self.found is None else ANYTHING_ELSE

    def _is_courtesy(self) -> bool:
        return self.reading.closes or self.reading.not_book or self.reading.greets

    def see(self, call: ToolCall, answer: ToolMessage) -> None:
        """Take in a tool's answer: from its artifact, or from its text where only that has come along."""
        if answer.artifact is not None:
            self.facts = self.facts.after(dict(call["args"]), answer.artifact)
        if call["name"] == FIND[self.domain]:
            self.searched_now = True
            self.found, name = _search_outcome(answer)
            self.name = name.lower() if name else self.name
        elif call["name"] == BOOK[self.domain]:
            self.outcome = _booking_outcome(answer)
            self.booked = self.booked or self.outcome == "booked"


def _node_of(message: BaseMessage) -> Node:
    """Whose prompt this is: the node that it names first."""
    nodes: tuple[Node, ...] = ("router", "hotel", "restaurant")
    text = message.text.lower() if isinstance(message, SystemMessage) else ""
    return min(nodes, key=lambda node: text.find(node) if node in text else len(text))


def _route(text: str) -> str:
    """The domains the user speaks of; otherwise whoever is being talked to, a goodbye included."""
    if " | " in text:
        active, _, said = text.partition(" | ")
    else:
        active, _, said = text.partition("\n")
        active, said = active.rpartition(" ")[2], said.removeprefix("User: ")
    return " ".join(named_domains(said)) or (active if active in FIND else "hotel")


def _follow(domain: Domain, messages: Sequence[BaseMessage], piecemeal: bool) -> _Dialogue:
    dialogue = _Dialogue(domain, Facts(domain), piecemeal)
    calls: dict[str, ToolCall] = {}
    for message in messages:
        if isinstance(message, HumanMessage):
            dialogue.hear(message.text)
        elif isinstance(message, ToolMessage) and message.tool_call_id in calls:
            dialogue.see(calls[message.tool_call_id], message)
        elif isinstance(message, AIMessage):
            calls |= {call["id"] or "": call for call in message.tool_calls}
            dialogue.offered_booking = "?" in message.text
    return dialogue


def _shared(line: str) -> dict[str, str]:
    """``[hotel area north people 3]`` -> area, people."""
    words = line.strip("[] \n").split()[1:]
    return dict(zip(words[::2], words[1::2], strict=False))


def _search_outcome(answer: ToolMessage) -> tuple[bool, str | None]:
    if isinstance(answer.artifact, SearchResult):
        venues = answer.artifact.venues
        return bool(venues), venues[0].name if venues else None
    count, separator, names = answer.text.partition(" found : ")
    return (True, names.split(" | ")[0]) if separator and count.isdigit() else (False, None)


def _booking_outcome(answer: ToolMessage) -> str:
    if isinstance(answer.artifact, BookingResult) or answer.text.startswith("booked "):
        return "booked"
    if isinstance(answer.artifact, Refusal):
        reason = answer.artifact.reason
        return reason.value if reason in (RefusalReason.UNAVAILABLE, RefusalReason.ALREADY_BOOKED) else "failed"
    reason = answer.text.removeprefix("refused : ")
    return {"not available": "unavailable", "already booked": "already_booked"}.get(reason, "failed")
