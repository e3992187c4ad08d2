"""The three spellings of a MultiWOZ dialogue act, and the way between them.

MultiWOZ's own slots (``pricerange``, ``day``) are what this project uses everywhere. ConvLab 3's "unified" ones
(``price range``, ``book day``) are what its policies and evaluator exchange, and ConvLab 1's (``Price``, ``Day``)
are what they work in. Hotel and restaurant only. ConvLab downloads two of these functions from a hub when imported;
here they are written from the tables in its ``multiwoz_slot_trans.py``.
"""

from collections.abc import Iterable, Mapping, Sequence

from simulation.records import Act

_UNIFIED = {
    "pricerange": "price range",
    "people": "book people",
    "day": "book day",
    "stay": "book stay",
    "time": "book time",
}
_PLAIN = {unified: plain for plain, unified in _UNIFIED.items()} | {"none": ""}
OLD_SLOTS = {
    "address": "Addr",
    "postcode": "Post",
    "price range": "Price",
    "book people": "People",
    "book day": "Day",
    "book stay": "Stay",
    "book time": "Time",
}
_FROM_OLD = {old.lower(): unified for unified, old in OLD_SLOTS.items()} | {"none": ""}
_KNOWN = {"area", "name", "phone", "type", "stars", "internet", "parking", "food", "ref"} | set(OLD_SLOTS)


def to_unified(acts: Iterable[Act]) -> list[list[str]]:
    """Our acts in ConvLab's unified spelling."""
    return [[intent, domain, _UNIFIED.get(slot, slot), value] for intent, domain, slot, value in acts]


def from_unified(acts: Iterable[Sequence[str]]) -> tuple[Act, ...]:
    """ConvLab's acts in MultiWOZ's spelling, lower-case; an absent slot or value is ``""``."""
    return tuple(
        (intent.lower(), domain.lower(), _PLAIN.get(slot.lower(), slot.lower()), "" if value == "none" else value)
        for intent, domain, slot, value in acts
    )


_OLD_INTENTS = {"nooffer": "NoOffer", "nobook": "NoBook", "offerbook": "OfferBook"}


def reverse_da(acts: Mapping[str, Sequence[Mapping[str, str]]]) -> dict[str, list[list[str]]]:
    """Unified acts to ConvLab 1's ``{"Hotel-Inform": [["Price", "cheap"]]}``.

    Stands for the function of the same name that ConvLab downloads; written from ``multiwoz_slot_trans.py``.
    """
    old: dict[str, list[list[str]]] = {}
    for group in acts.values():
        for act in group:
            intent, domain, slot, value = act["intent"], act["domain"], act["slot"], act.get("value", "")
            if domain == "general":
                key = f"{domain}-{intent}"
            else:
                key = f"{domain.capitalize()}-{_OLD_INTENTS.get(intent) or intent.capitalize()}"
            value = value or ("?" if intent == "request" else "none")
            old.setdefault(key, []).append([OLD_SLOTS.get(slot) or slot.capitalize() or "none", value])
    return old


def normalize_domain_slot_value(domain: str, slot: str, value: str) -> tuple[str, str, str]:
    """ConvLab 1's slot and value to the unified spelling; ``KeyError`` for what MultiWOZ does not know."""
    domain, slot, value = domain.lower(), slot.lower(), value.strip()
    if domain not in ("hotel", "restaurant"):
        raise KeyError(domain)
    slot = _FROM_OLD.get(slot, slot)
    if slot and slot not in _KNOWN:
        raise KeyError(slot)
    value = "dontcare" if value in ("do nt care", "do n't care") else value
    return domain, slot, "" if value in ("?", "none", "not mentioned") else value
