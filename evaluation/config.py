"""``run_eval.py``'s configuration, apart from what runs it so that ``--help`` and a wrong option answer at once.

Owns the options, their defaults, and what of them makes two runs the same run.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from db.errors import InputError
from simulation.endpoint import PREFIX, EndpointConfig

QUERY_SETS = (100, 1000)
OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True)
class EvalConfig:
    """Evaluate a policy on simulated users, or on the support desk's cases (--task casework).

    The report lands in the run's folder. The same command goes on where it was interrupted. Keys come from the
    environment: OPENAI_API_KEY for the policy, USER_API_KEY (else the same) for a language-model user.
    """

    task: Literal["multiwoz", "casework"] = "multiwoz"
    """Bookings with simulated users, or cases at the support desk."""
    policy: str = ""
    """``scripted``, ``untrained``, ``endpoint:MODEL`` or the name of a trained run (default: the run of --run).
    Casework: ``gold``, ``random``, ``heuristic``, ``sac`` (of --run), ``endpoint:MODEL``."""
    queries: int = 100
    """Casework: which fixed set of queries, 100 or 1000."""
    dialogues: int = 200
    """How many dialogues to play."""
    goals: str = "test"
    """``train``, ``validation``, ``test`` or a corpus file such as ConvLab's val.json.zip."""
    seed: int = 7
    """Decides goals, users and references."""
    run: str = "demo"
    """Name of the run: trained policies are looked for, and reports kept, in runs/NAME."""
    out: Path | None = None
    """The folder for the report (default: runs/RUN/eval-POLICY-GOALS, with -WORDINGS unless all)."""
    profile: Literal["cpu", "gpu"] = "cpu"
    """Where a trained policy runs."""
    rescore: Path | None = None
    """Score this folder's stored dialogues again and play nothing."""
    user: Literal["agenda", "llm"] = "agenda"
    """ConvLab's agenda user, or a language model with the goal in its prompt."""
    wordings: Literal["all", "train", "heldout"] = "all"
    """Which of the agenda user's sentences: all, those seen in training, or those held out."""
    base_url: str = OPENAI
    """The server of ``endpoint:MODEL``; any that speaks OpenAI's protocol."""
    temperature: float | None = 0.0
    """Of ``endpoint:MODEL``; None leaves it to the server."""
    style: Literal["full", "compact"] = "full"
    """How ``endpoint:MODEL`` is prompted: full for large models, compact for a small one trained here."""
    timeout_s: float = 60.0
    """Limit of one request to an endpoint."""
    user_model: str = ""
    """The model that plays the user with ``--user llm``."""
    user_base_url: str = OPENAI
    """Its server."""
    prompt_usd: float | None = None
    """US dollars per million prompt tokens, for cost_usd."""
    completion_usd: float | None = None
    """US dollars per million completion tokens, for cost_usd."""
    concurrency: int = 32
    """Dialogues in progress at once; changes speed, not scores."""
    processes: int = 1
    """More use more cores, for the scripted policy; changes speed, not scores."""

    @property
    def policy_name(self) -> str:
        return self.policy or self.run

    @property
    def folder(self) -> Path:
        goals = Path(self.goals).name.split(".")[0] if self.task == "multiwoz" else f"casework-{self.queries}"
        wordings = "" if self.wordings == "all" else f"-{self.wordings}"
        name = f"eval-{self.policy_name}-{goals}{wordings}".replace("/", "-").replace(":", "-")
        return self.out or Path("runs") / self.run / name

    @property
    def endpoint(self) -> EndpointConfig:
        """The policy's endpoint, when it is one."""
        model = self.policy.removeprefix(PREFIX)
        return EndpointConfig(
            model, self.base_url, temperature=self.temperature, timeout_s=self.timeout_s, style=self.style
        )

    def identity(self) -> dict[str, JsonValue]:
        """What has to agree for two runs to be the same one, beside the seed."""
        if self.task == "casework":
            return self._casework_identity()
        same: dict[str, JsonValue] = {
            "policy": self.policy_name,
            "dialogues": self.dialogues,
            "goals": self.goals,
            "user": self.user,
            "wordings": self.wordings,
        }
        if self.policy.startswith(PREFIX):
            same |= {"base_url": self.base_url, "temperature": self.temperature, "style": self.style}
        elif self.policy != "scripted":
            same |= {"profile": self.profile}
        if self.user == "llm":
            same |= {"user_model": self.user_model, "user_base_url": self.user_base_url}
        return same

    def _casework_identity(self) -> dict[str, JsonValue]:
        same: dict[str, JsonValue] = {"task": self.task, "policy": self.policy_name, "queries": self.queries}
        if self.policy.startswith(PREFIX):
            same |= {"base_url": self.base_url, "temperature": self.temperature}
        return same

    def check(self) -> None:
        """:raises InputError: options that cannot be, or cannot go together."""
        if self.dialogues < 1:
            raise InputError(f"--dialogues {self.dialogues} plays nothing: give 1 or more")
        if self.concurrency < 1:
            raise InputError(f"--concurrency {self.concurrency} plays nothing: give 1 or more")
        if self.processes < 1:
            raise InputError(f"--processes {self.processes} plays nothing: give 1 or more")
        if self.task == "casework" and self.queries not in QUERY_SETS:
            raise InputError(f"--queries {self.queries} is no set: give {' or '.join(map(str, QUERY_SETS))}")
        if self.processes > 1 and self.policy != "scripted":
            raise InputError(f"--processes {self.processes} is for --policy scripted, not {self.policy_name}: give 1")
        if self.policy == PREFIX:
            raise InputError("--policy endpoint: names no model: give one such as endpoint:gpt-4.1")
        if self.user == "llm" and not self.user_model:
            raise InputError("--user llm needs a model: name it with --user-model, and its server with --user-base-url")
