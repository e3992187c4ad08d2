"""The words the scripted expert knows: venue names, cuisines, and which words belong to which domain.

Names and foods come from the database's source, the rest is ordinary English. A lexicon is built once per process by
whoever needs it (30 ms) and holds compiled patterns only.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from db.seed import load_venues
from tools.results import Domain

_CUISINES = """
    afghan american argentinian asian australian australasian austrian bangladeshi barbecue barbeque basque belgian
    brazilian burmese cantonese caribbean catalan corsica cuban danish dutch english eritrean ethiopian filipino german
    greek halal hungarian indonesian irish jamaican kosher latin malaysian moroccan nepalese pakistani panasian persian
    peruvian polish polynesian romanian russian scandinavian scottish sicilian singaporean steakhouse swedish swiss
    syrian taiwanese tuscan ukrainian vegan vegetarian venetian welsh
"""
_TWO_WORD_CUISINES = (
    "north indian",
    "south indian",
    "north african",
    "south african",
    "latin american",
    "modern american",
    "south american",
    "eastern european",
    "northern european",
    "new zealand",
    "middle eastern",
)
_NOT_A_NAME = {"ask", "j", "bridge", "acorn", "alexander", "peking", "stazione", "cambridge", "avalon", "grafton"}
"""Short names that are words or places too: understood only where a name is expected."""
_SUFFIX = re.compile(r" (restaurant|hotel|guest house|guesthouse|bed and breakfast|b and b)$")


@dataclass(frozen=True)
class Lexicon:
    """Compiled vocabulary."""

    names: re.Pattern[str]
    """Any venue's name, longest first."""
    domain_of: dict[str, frozenset[Domain]]
    """Spelling of a name -> the domains that have such a venue."""
    short_names: dict[Domain, frozenset[str]]
    """What is left of names without "the" and "restaurant", for places where a name is expected."""
    foods: re.Pattern[str]


@lru_cache(maxsize=1)
def load_lexicon() -> Lexicon:
    """The vocabulary of the seeded database. Raises ``db.seed.SeedError`` where it is not installed."""
    domain_of: dict[str, set[Domain]] = {}
    short_names: dict[Domain, set[str]] = {"hotel": set(), "restaurant": set()}
    foods: set[str] = {*_CUISINES.split(), *_TWO_WORD_CUISINES}
    domains: tuple[Domain, ...] = ("hotel", "restaurant")
    for domain in domains:
        for venue in load_venues(domain):
            name = str(venue["name"]).lower()
            short = _SUFFIX.sub("", name.removeprefix("the "))
            short_names[domain].add(short)
            spellings = {name, name.replace("guest house", "guesthouse"), name.replace("guesthouse", "guest house")}
            if short not in _NOT_A_NAME:
                spellings.add(short)
            for spelling in spellings:
                domain_of.setdefault(spelling, set()).add(domain)
            if venue.get("food"):
                foods.add(str(venue["food"]))
        for chain in _chains([str(venue["name"]).lower() for venue in load_venues(domain)]):
            domain_of.setdefault(chain, set()).add(domain)
    return Lexicon(
        names=_any_of(domain_of),
        domain_of={name: frozenset(domains) for name, domains in domain_of.items()},
        short_names={domain: frozenset(names) for domain, names in short_names.items()},
        foods=_any_of(foods),
    )


def _chains(names: list[str]) -> set[str]:
    """Beginnings of two words that several names share: "pizza hut"."""
    beginnings = Counter(" ".join(name.split()[:2]) for name in names if len(name.split()) > 2)
    return {beginning for beginning, count in beginnings.items() if count > 1 and not beginning.startswith("the ")}


def _any_of(words: "dict[str, set[Domain]] | set[str]") -> re.Pattern[str]:
    longest_first = sorted(words, key=lambda word: (-len(word), word))
    return re.compile(r"(?<![a-z0-9])(?:" + "|".join(map(re.escape, longest_first)) + r")(?![a-z0-9])")
