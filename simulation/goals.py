"""Where goals come from: ConvLab's goal model in four disjoint splits, and MultiWOZ's corpus.

Promises: a goal from ``sample_goals`` is satisfiable (some venue matches ``info`` and every matching venue has every
requested slot), its ``fail_info`` matches no venue, its ``fail_book`` differs from its ``book``; the same arguments
give the same goals on every machine; a goal's split follows from its content, so no seed leaks a test goal into
training. What the world must refuse for ``fail_book`` is ``unavailability``'s.
"""

import hashlib
import json
import pickle
import random
import zlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal, cast, get_args
from zipfile import BadZipFile, ZipFile

from db.errors import InputError
from simulation.convlab_adapter import GoalGenerator, database, drawing_from, package_root
from simulation.records import DomainGoal, Goal
from tools.names import match_names
from tools.results import Domain

Split = Literal["sft", "train", "validation", "test"]

_SHARES: Final[dict[Split, float]] = {"sft": 0.35, "train": 0.35, "validation": 0.1, "test": 0.2}
"""How much of the space of goals each split owns."""
_SPLIT_SALT: Final = "concierge-split-1"
"""Changing it re-draws the splits, and makes scores incomparable."""
FAIL_BOOK_SHARE: Final = 0.25
"""How many bookings fail first: 32 of the 136 in MultiWOZ's validation corpus. ConvLab's model has had none since
2020 (only an unused ``book_again``); ``_failing_booking`` follows the code it dropped then."""
_ATTEMPTS_PER_GOAL: Final = 400
"""Draws for one new goal before a repeated one is accepted; the rarest split needs ten on average."""
_EMPTY: Final = frozenset({"", "?", "none", "none.", "unknown"})
_DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class GoalError(InputError, ValueError):
    """Goals that cannot be had as asked: the message says what is wrong with which value."""


def sample_goals(split: Split, count: int, seed: int) -> list[Goal]:
    """``count`` goals of ``split``, distinct while the split has enough, the same for the same arguments."""
    if split not in _SHARES:
        raise GoalError(f"no split called {split!r}; choose one of {', '.join(_SHARES)}")
    if count < 0:
        raise GoalError(f"cannot sample {count} goals")
    goals: dict[str, Goal] = {}
    repeated: list[Goal] = []
    attempts = 0
    for goal in _drawn_goals(split, seed):
        attempts += 1
        if goal.id not in goals:
            goals[goal.id] = goal
            attempts = 0
        elif attempts > _ATTEMPTS_PER_GOAL:
            repeated.append(goal)
        if len(goals) + len(repeated) >= count:
            break
    return [*goals.values(), *repeated][:count]


def split_of(goal: Goal) -> Split:
    """The split that owns this goal's content, in whatever order it raises its domains."""
    return _split_of_content(_content(goal.domains))


def _drawn_goals(split: Split, seed: int) -> Iterator[Goal]:
    rng = random.Random(f"goals-{split}-{seed}")
    generator = _goal_generator()
    while True:
        with drawing_from(rng):
            drawn = cast("Mapping[str, Mapping[str, dict[str, str]]]", generator.get_user_goal())
        domains: dict[Domain, DomainGoal] = {name: _domain_goal(name, drawn[name], rng) for name in _ordering(drawn)}
        content = _content(domains)
        if _split_of_content(content) == split and all(_playable(name, wanted) for name, wanted in domains.items()):
            yield Goal(id=f"convlab-{_digest(content)[:12]}", source="convlab", domains=domains)


def _ordering(drawn: Mapping[str, object]) -> tuple[Domain, ...]:
    return cast("tuple[Domain, ...]", drawn["domain_ordering"])


@cache
def _goal_generator() -> GoalGenerator:
    """ConvLab's generator with its goal model, restricted to hotel and restaurant.

    The model in the distribution is a 4-tuple where the code unpacks six, so the object is filled by hand; the two
    missing tables are only read when slot combinations are sampled from the training set.
    """
    with (package_root() / "human_eval" / "goal" / "goal_model.pkl").open("rb") as file:
        slots, values, orderings, booking = pickle.load(file)
    wanted = {order: weight for order, weight in orderings.items() if order and set(order) <= set(get_args(Domain))}
    total = sum(wanted.values())
    generator = object.__new__(GoalGenerator)
    generator.__dict__.update(
        db=_Matches(),
        sample_info_from_trainset=False,
        sample_reqt_from_trainset=False,
        ind_slot_dist=slots,
        ind_slot_value_dist=values,
        domain_ordering_dist={order: weight / total for order, weight in wanted.items()},
        book_dist=booking,
    )
    return generator


class _Matches:
    """The goal generator's database: the same records, matched exactly, and without ConvLab's copying."""

    def query(self, domain: Domain, constraints: Iterable[tuple[str, str]]) -> list[Mapping[str, str]]:
        return matching_venues(domain, dict(constraints))


def _domain_goal(domain: Domain, drawn: Mapping[str, dict[str, str]], rng: random.Random) -> DomainGoal:
    book = _clean_booking(drawn.get("book", {}))
    fails = book and rng.random() < FAIL_BOOK_SHARE
    return DomainGoal(
        info=drawn["info"],
        fail_info=drawn.get("fail_info", {}),
        reqt=tuple(slot for slot in drawn.get("reqt", ()) if _all_have(domain, drawn["info"], slot)),
        book=book,
        fail_book=_failing_booking(domain, book, rng) if fails else {},
    )


def _failing_booking(domain: Domain, book: Mapping[str, str], rng: random.Random) -> dict[str, str]:
    """The booking with one value changed: a night more or a day earlier, an hour later or a day off."""
    failing = dict(book)
    day = _DAYS.index(book["day"])
    other_value = rng.random() < 0.5
    if domain == "hotel":
        if other_value and int(book["stay"]) < 7:
            failing["stay"] = str(int(book["stay"]) + 1)
        else:
            failing["day"] = _DAYS[day - 1]
    elif other_value:
        hour, minute = book["time"].split(":")
        failing["time"] = f"{(int(hour) + 1) % 24:02d}:{minute}"
    else:
        failing["day"] = _DAYS[(day + rng.choice((-1, 1))) % 7]
    return failing


def _clean_booking(book: Mapping[str, object]) -> dict[str, str]:
    """Without the corpus's ``invalid`` and ``pre_invalid`` marks, and with times zero-padded."""
    return {
        slot: str(value).zfill(5) if slot == "time" else str(value)
        for slot, value in book.items()
        if "invalid" not in slot
    }


# --- what the database says ---------------------------------------------------------------------------------------


@cache
def _venues(domain: Domain) -> tuple[Mapping[str, str], ...]:
    return tuple(database().dbs[domain])


@cache
def _holders(domain: Domain) -> Mapping[tuple[str, str], frozenset[int]]:
    """(slot, value) -> the venues that have it."""
    holders: dict[tuple[str, str], set[int]] = {}
    for index, venue in enumerate(_venues(domain)):
        for slot, value in venue.items():
            holders.setdefault((slot, str(value).lower()), set()).add(index)
    return {key: frozenset(indices) for key, indices in holders.items()}


def matching_venues(domain: Domain, info: Mapping[str, str]) -> list[Mapping[str, str]]:
    """The venues with exactly these values (an absent slot matches nothing); ``dontcare`` matches all."""
    holders, venues = _holders(domain), _venues(domain)
    indices: Iterable[int] = range(len(venues))
    for slot, value in info.items():
        if value != "dontcare":
            indices = holders.get((slot, value.lower()), frozenset()).intersection(indices)
    return [venues[index] for index in sorted(indices)]


def _finds(domain: Domain, info: Mapping[str, str]) -> bool:
    """Whether a search finds something: a name need not be exact for that ("ask" is "ask restaurant")."""
    names = tuple(venue["name"] for venue in _venues(domain))
    return bool(matching_venues(domain, info)) or ("name" in info and bool(match_names(info["name"], names)))


def _all_have(domain: Domain, info: Mapping[str, str], slot: str) -> bool:
    return all(venue.get(slot, "") not in _EMPTY for venue in matching_venues(domain, info))


def _playable(domain: Domain, wanted: DomainGoal) -> bool:
    """Whether the goal can be reached: it asks for something, that something exists, and the first try fails."""
    return bool(
        (wanted.reqt or wanted.book)
        and matching_venues(domain, wanted.info)
        and not (wanted.fail_info and _finds(domain, wanted.fail_info))
        and wanted.fail_book != (wanted.book or None)
    )


# --- splits -------------------------------------------------------------------------------------------------------


def _content(domains: Mapping[Domain, DomainGoal]) -> str:
    return json.dumps({name: wanted.model_dump() for name, wanted in domains.items()}, sort_keys=True)


def _digest(content: str) -> str:
    return hashlib.sha256(f"{_SPLIT_SALT}:{content}".encode()).hexdigest()


def _split_of_content(content: str) -> Split:
    position = int(_digest(content)[-8:], 16) / 16**8
    for split, share in _SHARES.items():
        position -= share
        if position < 0:
            return split
    return "test"


# --- the corpus ---------------------------------------------------------------------------------------------------


def load_corpus_goals(path: Path) -> list[Goal]:
    """The purely hotel/restaurant goals of a file in the layout of ConvLab's ``val.json.zip`` (or its JSON).

    ``GoalError`` says in one line what is wrong with a file. A ``fail_info`` that the database satisfies, and a
    ``fail_book`` that equals ``book``, are dropped: they could not fail.
    """
    dialogues = _read_corpus(path)
    goals = [goal for name, dialogue in dialogues.items() if (goal := _corpus_goal(path, name, dialogue)) is not None]
    if not goals:
        raise GoalError(f"{path}: none of its {len(dialogues)} dialogues is purely about hotels and restaurants")
    return goals


def _read_corpus(path: Path) -> dict[str, dict[str, object]]:
    try:
        if path.suffix == ".zip":
            with ZipFile(path) as archive:
                names = [name for name in archive.namelist() if name.endswith(".json")]
                if len(names) != 1:
                    raise GoalError(f"{path}: expected one JSON file inside, found {len(names)}")
                text = archive.read(names[0])
        else:
            text = path.read_bytes()
        dialogues = json.loads(text)
    except OSError as error:
        raise GoalError(f"{path}: cannot be read ({error.strerror or error})") from error
    except BadZipFile as error:
        raise GoalError(f"{path}: is not a zip file, or not a whole one") from error
    except (zlib.error, RuntimeError) as error:
        raise GoalError(f"{path}: is damaged or encrypted ({error})") from error
    except ValueError as error:
        if isinstance(error, GoalError):
            raise
        raise GoalError(f"{path}: is not JSON ({error})") from error
    if not isinstance(dialogues, dict) or not all(isinstance(each, dict) for each in dialogues.values()):
        raise GoalError(f"{path}: expected an object of dialogues by name, as in ConvLab's val.json.zip")
    return dialogues


_OTHER_DOMAINS: Final = ("attraction", "bus", "hospital", "police", "taxi", "train")


def _corpus_goal(path: Path, name: str, dialogue: Mapping[str, object]) -> Goal | None:
    raw = dialogue.get("goal")
    if not isinstance(raw, dict):
        raise GoalError(f"{path}: dialogue {name!r} has no goal")
    asked: list[Domain] = [domain for domain in get_args(Domain) if raw.get(domain)]
    if not asked or any(raw.get(other) for other in _OTHER_DOMAINS):
        return None
    try:
        domains: dict[Domain, DomainGoal] = {
            domain: _corpus_domain_goal(domain, raw[domain]) for domain in _raised(asked, raw)
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise GoalError(f"{path}: the goal of dialogue {name!r} is malformed ({error!r})") from error
    return Goal(id=name.removesuffix(".json"), source="corpus", domains=domains)


def _raised(asked: list[Domain], raw: Mapping[str, object]) -> list[Domain]:
    """The order in which the goal's message to the crowd worker raises the domains, as ConvLab reads it."""
    words: dict[Domain, tuple[str, str]] = {
        "hotel": ("place to stay", "hotel"),
        "restaurant": ("place to dine", "restaurant"),
    }
    message = raw.get("message", [])
    sentences = [message] if isinstance(message, str) else list(cast("list[str]", message))

    def first(domain: Domain) -> int:
        hits = (i for i, text in enumerate(sentences) if any(word in text.lower() for word in words[domain]))
        return next(hits, len(sentences))

    return sorted(asked, key=first)


def _corpus_domain_goal(domain: Domain, raw: Mapping[str, dict[str, str]]) -> DomainGoal:
    info, fail_info = dict(raw.get("info", {})), dict(raw.get("fail_info", {}))
    book, fail_book = _clean_booking(raw.get("book", {})), _clean_booking(raw.get("fail_book", {}))
    fail_book = {**book, **fail_book} if fail_book else {}
    return DomainGoal(
        info=info,
        fail_info={} if _finds(domain, fail_info) else fail_info,
        reqt=tuple(raw.get("reqt", ())),
        book=book,
        fail_book={} if fail_book == book else fail_book,
    )
