"""A user played by a language model: the goal is in its prompt, and it ends the dialogue with a marker.

The model is any chat model, as a rule one from ``endpoint.open_endpoint`` (any OpenAI-compatible server). The user
says what the model wrote, without reasoning tags, role labels and the marker; a message that is empty then is asked
for once more. It has words only, no acts. A server's error passes through, so that it counts as infrastructure's.
"""

import re
from functools import cache
from pathlib import Path
from typing import Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from simulation.records import DomainGoal, Goal
from simulation.users import AgentTurn, UserError, UserTurn
from tools.results import Domain

END: Final = "[DONE]"
"""What the model writes when it has said goodbye."""
_OPENING: Final = "Hello, how can I help you?"
"""Said for the agent before the dialogue: chat templates want somebody else to speak first."""
_NUDGE: Final = " (Please answer in words.)"
"""Added when the answer was empty: with a fixed seed the same question would get the same answer."""
_GOODBYE: Final = "Thank you, goodbye."
_THOUGHT: Final = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)
_LABEL: Final = re.compile(r"^\s*(?:\*\*)?(?:user|customer|visitor|you|me)(?:\*\*)?\s*:\s*(?:\*\*)?", re.IGNORECASE)


class LanguageUser:
    """One dialogue's user."""

    def __init__(self, goal: Goal, model: BaseChatModel, name: str = "language-model") -> None:
        self.name = name
        self._model = model
        self._history: list[BaseMessage] = [SystemMessage(user_prompt(goal))]

    async def open(self) -> UserTurn:
        """The first message; ``UserError`` if the model ends the dialogue with it."""
        turn = await self._say(_OPENING)
        if turn.done:
            raise UserError("the model that plays the user ended the dialogue with its first message")
        return turn

    async def reply(self, agent: AgentTurn) -> UserTurn:
        """The answer to the agent's text; its acts are not read."""
        return await self._say(agent.text or "...")

    async def _say(self, heard: str) -> UserTurn:
        for nudge in ("", _NUDGE):
            answer = await self._model.ainvoke([*self._history, HumanMessage(heard + nudge)])
            text, done = _spoken(str(answer.text))
            if text:
                self._history += [HumanMessage(heard), AIMessage(text)]
                return UserTurn(text, done=done)
        raise UserError("the model that plays the user wrote nothing, twice")


def _spoken(written: str) -> tuple[str, bool]:
    """What is said of what was written, and whether it was the end; a bare marker is a goodbye."""
    text = _LABEL.sub("", _THOUGHT.sub("", written))
    done = END.lower() in text.lower()
    text = " ".join(re.sub(re.escape(END), " ", text, flags=re.IGNORECASE).split()).strip('"“” ')
    return (text or _GOODBYE if done else text), done


# --- the prompt ---------------------------------------------------------------------------------------------------


@cache
def _template() -> str:
    return (Path(__file__).parent / "prompts" / "user.md").read_text(encoding="utf-8").strip()


def user_prompt(goal: Goal) -> str:
    """The instructions to the model that plays the user."""
    wishes = [line for domain, wanted in goal.domains.items() for line in _wishes(domain, wanted)]
    return _template().replace("{goal}", "\n".join(wishes)).replace("{end}", END)


_SLOT_NAMES: Final = {
    "pricerange": "price range",
    "stars": "number of stars",
    "internet": "free wifi",
    "parking": "free parking",
    "phone": "phone number",
    "food": "kind of food",
    "people": "number of people",
    "stay": "number of nights",
    "day": "day",
}


def _wishes(domain: Domain, wanted: DomainGoal) -> list[str]:
    """The goal of one domain in lines of English, in the order in which the user should go through them."""
    first = wanted.fail_info or wanted.info
    lines = [f"- Find a {domain} with: {_values(first)}."]
    if wanted.fail_info:
        lines.append(f"  Second choice, only if the assistant says there is none: {_values(wanted.info)}.")
    if wanted.reqt:
        lines.append(f"  Once one is found, ask for its {', '.join(_slot_name(slot) for slot in wanted.reqt)}.")
    if wanted.book:
        lines.append(f"  Book it: {_values(wanted.fail_book or wanted.book)}. Get the reference number.")
        if wanted.fail_book:
            lines.append(f"  Second choice, only if that cannot be booked: {_values(wanted.book)}.")
    else:
        lines.append("  Do not book it.")
    return lines


def _values(values: dict[str, str]) -> str:
    return ", ".join(f"{_slot_name(slot)} {value}" for slot, value in values.items()) or "no particular wishes"


def _slot_name(slot: str) -> str:
    return _SLOT_NAMES.get(slot, slot)
