"""The only importer of ConvLab: its simulator, templates, goal model, database and evaluator without its dependencies.

ConvLab 3.0.1 pins packages that no longer install, and reaches for torch, boto3 and a download hub as soon as it is
imported. This module puts four stand-in packages into ``sys.modules`` (``convlab``, ``convlab.util``,
``convlab.policy.rule.multiwoz`` and, while loading, ``fuzzywuzzy`` backed by rapidfuzz), redirects the files that are
not in the distribution, and gives ConvLab's modules a quiet ``print``, a named logger and a random source of ours.

It promises: no torch, no network, no output, no handler on the root logger, and the global ``random`` and
``numpy.random`` states are neither read nor written. Whoever calls into ConvLab does so under ``drawing_from(rng)``;
a draw outside of it is an error, so that a dialogue's randomness is its own however many run at once.

It leaves to others what is done with the classes: ``fixed_agenda``, ``official_evaluator``, ``goals``.
"""

import importlib
import importlib.util
import io
import logging
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import IO

from rapidfuzz import fuzz

from simulation.act_names import OLD_SLOTS, normalize_domain_slot_value, reverse_da

# --- the random source -------------------------------------------------------------------------------------------

Narrowing = Callable[[Sequence[object]], Sequence[object]]

_generator: ContextVar[random.Random] = ContextVar("convlab_generator")
_narrowing: ContextVar[Narrowing | None] = ContextVar("convlab_narrowing", default=None)


@contextmanager
def drawing_from(rng: random.Random, narrow: Narrowing | None = None) -> Iterator[None]:
    """Within the block every draw ConvLab makes comes from ``rng``. Holds for this thread and task only.

    :param narrow: what is left of the options of a ``random.choice``.
    """
    generator, narrowing = _generator.set(rng), _narrowing.set(narrow)
    try:
        yield
    finally:
        _generator.reset(generator)
        _narrowing.reset(narrowing)


class _RandomSource:
    """Stands in for the module ``random`` inside ConvLab; ``LookupError`` outside of ``drawing_from``."""

    def random(self) -> float:
        return _generator.get().random()

    def randint(self, low: int, high: int) -> int:
        return _generator.get().randint(low, high)

    def choice(self, options: Sequence[object]) -> object:
        narrow = _narrowing.get()
        return _generator.get().choice(narrow(options) if narrow else options)

    def choices(self, options: Sequence[object], weights: Sequence[float] | None = None) -> list[object]:
        return _generator.get().choices(options, weights)

    def sample(self, population: Iterable[object], count: int) -> list[object]:
        """Accepts a dict's keys, which ``random.sample`` has refused since Python 3.11."""
        return _generator.get().sample(list(population), count)

    def shuffle(self, items: list[object]) -> None:
        _generator.get().shuffle(items)


# --- loading -----------------------------------------------------------------------------------------------------

_DOWNLOADED = {
    "reverse_da": reverse_da,
    "normalize_domain_slot_value": normalize_domain_slot_value,
    "reverse_da_slot_name_map": OLD_SLOTS,
}


def _module_from_hub(_dataset: str, _file: str, names: str | list[str]) -> object:
    """Stands for ConvLab's ``relative_import_module_from_unified_datasets``."""
    return _DOWNLOADED[names] if isinstance(names, str) else [_DOWNLOADED[name] for name in names]


logger = logging.getLogger(__name__)


def _package_root() -> Path:
    spec = importlib.util.find_spec("convlab")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("convlab is not installed; run `uv sync`")
    return Path(next(iter(spec.submodule_search_locations)))


def _open(file: str | Path, mode: str = "r") -> IO[str] | IO[bytes]:
    """ConvLab's ``open``: the files it expects beside its package are taken from where the distribution has them."""
    path = Path(file)
    if path.name == "value_set.json":
        return io.StringIO("{}")
    if path.parent.name == "db":
        path = _ROOT / "human_eval" / "db" / path.name
    return path.open(mode)


def _stand_in(name: str, folder: Path | None = None, **attributes: object) -> ModuleType:
    module = ModuleType(name, "Stands in for a package whose own __init__ needs what is not installed.")
    if folder is not None:
        module.__path__ = [str(folder)]
    module.__dict__.update(attributes)
    return module


_REDIRECTED = {"open": _open, "print": lambda *_args, **_kwargs: None}


def _load(name: str) -> ModuleType:
    """Import one of ConvLab's modules with our ``open``, ``print``, ``random`` and logger in its namespace."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        raise ImportError(f"convlab 3.0.1 should have {name}; run `uv sync`")
    module = importlib.util.module_from_spec(spec)
    module.__dict__.update(_REDIRECTED)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    # ``logging.info`` on the root logger would install a handler for the whole process.
    replaced = {"random": _RandomSource(), "logging": logger}
    module.__dict__.update({key: value for key, value in replaced.items() if key in module.__dict__})
    return module


_ROOT = _package_root()


def _install() -> dict[str, ModuleType]:
    stand_ins = {
        "convlab": _stand_in("convlab", _ROOT, get_root_path=lambda: str(_ROOT)),
        "convlab.util": _stand_in(
            "convlab.util", _ROOT / "util", relative_import_module_from_unified_datasets=_module_from_hub
        ),
        "convlab.policy.rule.multiwoz": _stand_in(
            "convlab.policy.rule.multiwoz", _ROOT / "policy" / "rule" / "multiwoz"
        ),
    }
    for name, module in stand_ins.items():
        sys.modules.setdefault(name, module)
    borrowed = "fuzzywuzzy" not in sys.modules
    if borrowed:
        sys.modules["fuzzywuzzy"] = _stand_in("fuzzywuzzy", fuzz=fuzz)
    try:
        names = {
            "dbquery": "convlab.util.multiwoz.dbquery",
            "goals": "convlab.task.multiwoz.goal_generator",
            "agenda": "convlab.policy.rule.multiwoz.policy_agenda_multiwoz",
            "bot": "convlab.policy.rule.multiwoz.rule_based_multiwoz_bot",
            "evaluator": "convlab.evaluator.multiwoz_eval",
            # ``convlab.nlg`` itself is light; its module is loaded before its package can import it unprepared.
            "nlg": "convlab.nlg.template.multiwoz.nlg",
        }
        sys.modules.setdefault(
            "convlab.nlg.template.multiwoz",
            _stand_in("convlab.nlg.template.multiwoz", _ROOT / "nlg" / "template" / "multiwoz"),
        )
        return {key: _load(name) for key, name in names.items()}
    finally:
        if borrowed:
            del sys.modules["fuzzywuzzy"]


_MODULES = _install()

from convlab.evaluator.multiwoz_eval import MultiWozEvaluator  # noqa: E402
from convlab.nlg.template.multiwoz.nlg import TemplateNLG  # noqa: E402
from convlab.policy.rule.multiwoz.policy_agenda_multiwoz import (  # noqa: E402
    Agenda,
    UserPolicyAgendaMultiWoz,
)
from convlab.policy.rule.multiwoz.policy_agenda_multiwoz import Goal as AgendaGoal  # noqa: E402
from convlab.policy.rule.multiwoz.rule_based_multiwoz_bot import RuleBasedMultiwozBot  # noqa: E402
from convlab.task.multiwoz.goal_generator import GoalGenerator  # noqa: E402
from convlab.util.multiwoz.dbquery import Database  # noqa: E402

__all__ = [
    "Agenda",
    "AgendaGoal",
    "Database",
    "GoalGenerator",
    "MultiWozEvaluator",
    "RuleBasedMultiwozBot",
    "TemplateNLG",
    "UserPolicyAgendaMultiWoz",
    "database",
    "draw",
    "drawing_from",
    "package_root",
]


def draw() -> float:
    """A number in [0, 1) from the current generator, for what extends ConvLab's classes."""
    return _generator.get().random()


@cache
def database() -> Database:
    """ConvLab's databases, read once. Nobody changes them: ``Database.query`` answers with copies."""
    return Database()


def package_root() -> Path:
    """Where the installed distribution lies."""
    return _ROOT


def _sample_nominal(weights: Mapping[object, float]) -> object:
    """One key by weight; ConvLab's own draws a whole numpy multinomial."""
    return _RandomSource().choices(list(weights), list(weights.values()))[0]


_MODULES["goals"].__dict__["nomial_sample"] = _sample_nominal
_MODULES["bot"].__dict__["Database"] = database
_MODULES["evaluator"].__dict__["Database"] = database
# The user keeps a goal generator that it never asks when it is given a goal.
_MODULES["agenda"].__dict__["GoalGenerator"] = object
