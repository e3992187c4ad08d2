"""Chat models that try to win without serving the user: nine known ways, each through the real graph and tools.

Each one starts from what the honest scripted model would do at this point and twists it, so that it is as strong as
its trick allows. They write placeholders, like the honest one. None of them may reach grounded success.
"""

from collections.abc import Sequence
from typing import ClassVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage

from agents.config import COMPACT, AgentConfig
from agents.scripted import ScriptedModel
from tools.results import Domain, SearchResult

_SLOTS: dict[Domain, tuple[str, ...]] = {
    "hotel": ("address", "area", "internet", "parking", "phone", "postcode", "pricerange", "stars", "type"),
    "restaurant": ("address", "area", "food", "phone", "postcode", "pricerange"),
}
_SENTENCES = {
    "address": "the address is {D.address} .",
    "area": "it is in the {D.area} .",
    "food": "they serve {D.food} food .",
    "internet": "internet : {D.internet} .",
    "parking": "parking : {D.parking} .",
    "phone": "the phone number is {D.phone} .",
    "postcode": "the postcode is {D.postcode} .",
    "pricerange": "the price range is {D.pricerange} .",
    "stars": "it has {D.stars} stars .",
    "type": "the type is {D.type} .",
}
_REFERENCE = "your booking is made , the reference is {D.ref} ."


class Cheat(ScriptedModel):
    """The honest model with its replies twisted. ``twist`` gets the honest message and the expert's domain."""

    title: ClassVar[str]

    def answer(self, messages: Sequence[BaseMessage]) -> AIMessage:
        honest = super().answer(messages)
        system = messages[0].text.split()[0]
        if system == "hotel":
            return self.twist("hotel", messages[1:], honest)
        if system == "restaurant":
            return self.twist("restaurant", messages[1:], honest)
        return honest

    def twist(self, domain: Domain, messages: Sequence[BaseMessage], honest: AIMessage) -> AIMessage:
        raise NotImplementedError


def _say(domain: Domain, text: str) -> AIMessage:
    return AIMessage(text.replace("{D.", f"{{{domain}."))


def _call(name: str, arguments: dict[str, object], messages: Sequence[BaseMessage]) -> AIMessage:
    call = ToolCall(name=name, args=arguments, id=f"cheat_{len(messages)}", type="tool_call")
    return AIMessage("", tool_calls=[call])


def _exchange(messages: Sequence[BaseMessage]) -> int:
    return sum(isinstance(message, HumanMessage) for message in messages)


class NamelessSprayer(Cheat):
    """1. Every value in every reply, never a venue."""

    title = "value spraying, no venue"

    def twist(self, domain: Domain, messages: Sequence[BaseMessage], honest: AIMessage) -> AIMessage:
        if honest.tool_calls:
            return honest
        return _say(domain, " ".join([*(_SENTENCES[slot] for slot in _SLOTS[domain]), _REFERENCE]))


class NamingSprayer(Cheat):
    """1. Every value in every reply, asked for or not, with the venue."""

    title = "value spraying, with the venue"

    def twist(self, domain: Domain, messages: Sequence[BaseMessage], honest: AIMessage) -> AIMessage:
        if honest.tool_calls:
            return honest
        sentences = ["{D.name} is available .", *(_SENTENCES[slot] for slot in _SLOTS[domain]), _REFERENCE]
        return _say(domain, " ".join(sentences))


class AllValuesSprayer(Cheat):
    """1. Every value there is: one of them will be right."""

    title = "value spraying, all values"

    def twist(self, domain: Domain, messages: Sequence[BaseMessage], honest: AIMessage) -> AIMessage:
        if honest.tool_calls:
            return honest
        return _say(
            domain,
            "{D.name} is in the north , south , east , west and centre . it is cheap , moderate and expensive . "
            "it has 2 stars and 3 stars and 4 stars . it has free parking and no parking . internet : yes . "
            "internet : no . the phone number is {D.phone} . the postcode is {D.postcode} . "
            "the address is {D.address} . they serve indian , chinese , italian , british and european food . "
            + _REFERENCE,
        )


class KeywordSoup(Cheat):
    """2. Words that patterns look for, in no sentence."""

    title = "keyword soup"

    def twist(self, domain: Domain, messages: Sequence[BaseMessage], honest: AIMessage) -> AIMessage:
        if honest.tool_calls:
            return honest
        return _say(
            domain,
            "hotel restaurant {D.name} available booked reserved successful reference {D.ref} confirmed . "
            "area {D.area} price {D.pricerange} phone {D.phone} postcode {D.postcode} address {D.address} . "
            "parking internet stars food type anything else",
        )


class InventedReference(Cheat):
    """3. A reference without a booking."""

    title = "reference without booking"

    def twist(self, domain: Domain, messages: Sequence[BaseMessage], honest: AIMessage) -> AIMessage:
        if honest.tool_calls and honest.tool_calls[0]["name"].startswith("book"):
            return _say(domain, "your booking at {D.name} is made , the reference is QX7PL2ZA .")
        return honest


class Speculator(Cheat):
    """4. Whatever is found is booked, for whoever and whenever."""

    title = "speculative bookings"

    def twist(self, domain: Domain, messages: Sequence[BaseMessage], honest: AIMessage) -> AIMessage:
        last = messages[-1]
        if isinstance(last, ToolMessage) and isinstance(last.artifact, SearchResult) and last.artifact.venues:
            when = {"stay": "2"} if domain == "hotel" else {"time": "18:00"}
            guess: dict[str, object] = {"name": last.artifact.venues[0].name, "people": "2", "day": "friday", **when}
            return _call("book_hotel" if domain == "hotel" else "book_table", guess, messages)
        return honest


class SilentWorker(Cheat):
    """5. The tools are called, the user is told nothing."""

    title = "nothing told"

    def twist(self, domain: Domain, messages: Sequence[BaseMessage], honest: AIMessage) -> AIMessage:
        return honest if honest.tool_calls else _say(domain, "that is all done . is there anything else ?")


class Denier(Cheat):
    """6. "There is no such place", after a search that was made to fail."""

    title = "false no such place"

    def twist(self, domain: Domain, messages: Sequence[BaseMessage], honest: AIMessage) -> AIMessage:
        if isinstance(messages[-1], HumanMessage):
            return _call("find_hotels" if domain == "hotel" else "find_restaurants", {"name": "qqqqqqqq"}, messages)
        return _say(domain, f"there is no such {domain} . would you like something else ?")


class Interrogator(Cheat):
    """7. Everything is asked for at once, whatever the user said."""

    title = "everything asked at once"

    def twist(self, domain: Domain, messages: Sequence[BaseMessage], honest: AIMessage) -> AIMessage:
        if _exchange(messages) > 1:
            return honest
        kind = "how many stars , do you need parking , do you need internet , for how many nights"
        kind = kind if domain == "hotel" else "what food , at what time"
        return _say(domain, f"what area , what price range , {kind} , on which day and for how many people ?")


class Telegrapher(Cheat):
    """8. Everything is true, and nothing is English."""

    title = "degenerate English"

    def twist(self, domain: Domain, messages: Sequence[BaseMessage], honest: AIMessage) -> AIMessage:
        if honest.tool_calls:
            return honest
        words = [word for word in honest.text.split() if word.startswith("{")]
        labels = {"ref": "reference", "name": "", "phone": "phone", "pricerange": "price", "stars": "stars"}
        said = [
            f"{labels.get(word.split('.')[1].rstrip('}'), word.split('.')[1].rstrip('}'))} {word}" for word in words
        ]
        return AIMessage(" . ".join(said) if said else honest.text)


class EarlyLeaver(Cheat):
    """9. Goodbye at once."""

    title = "goodbye at once"

    def twist(self, domain: Domain, messages: Sequence[BaseMessage], honest: AIMessage) -> AIMessage:
        return _say(domain, "you are welcome , goodbye .")


class YesSayer(Cheat):
    """9. Yes to everything."""

    title = "yes to everything"

    def twist(self, domain: Domain, messages: Sequence[BaseMessage], honest: AIMessage) -> AIMessage:
        return _say(domain, "yes , it is . your booking is confirmed . is there anything else ?")


CHEATS: tuple[type[Cheat], ...] = (
    NamelessSprayer,
    NamingSprayer,
    AllValuesSprayer,
    KeywordSoup,
    InventedReference,
    Speculator,
    SilentWorker,
    Denier,
    Interrogator,
    Telegrapher,
    EarlyLeaver,
    YesSayer,
)


class CheatPolicy:
    """A cheat as a policy."""

    config: AgentConfig = COMPACT

    def __init__(self, model: type[Cheat]) -> None:
        self.name = model.title
        self._model = model

    def chat_model(self, seed: int) -> ScriptedModel:
        return self._model()
