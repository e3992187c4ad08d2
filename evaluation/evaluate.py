"""Evaluate a policy: pick goals, play them into a run folder, score, write the reports.

Owns ``run_eval.py``'s configuration and what of it makes two runs the same run. It knows no policy by name: the
script hands it one. Scoring again needs no model.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic import JsonValue

from db.errors import InputError
from evaluation.grounded import grounded
from evaluation.html import view_run, write_html
from evaluation.metrics import Prices
from evaluation.players import OpenPolicy, UserConfig, open_player, pick_goals
from evaluation.processes import play_in_processes
from evaluation.report import Report, build_report, score_episodes
from evaluation.runner import DEFAULT_CONCURRENCY, plan_episodes
from evaluation.runs import RunFiles, start_run, write_atomically
from simulation.endpoint import PREFIX, EndpointConfig
from simulation.records import Episode
from simulation.wordings import Wordings

COMMAND = "run_eval"
OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True)
class EvalConfig:
    """Evaluate a policy on simulated users.

    The report lands in the run's folder. The same command goes on where it was interrupted. Keys come from the
    environment: OPENAI_API_KEY for the policy, USER_API_KEY (else the same) for a language-model user.
    """

    policy: str = ""
    """``scripted``, ``untrained``, ``endpoint:MODEL`` or the name of a trained run (default: the run of --run)."""
    dialogues: int = 200
    """How many dialogues to play."""
    goals: str = "test"
    """``train``, ``validation``, ``test`` or a corpus file such as ConvLab's val.json.zip."""
    seed: int = 7
    """Decides goals, users and references."""
    run: str = "demo"
    """Name of the run: trained policies are looked for, and reports kept, in runs/NAME."""
    out: Path | None = None
    """The folder for the report (default: runs/RUN/eval-POLICY-GOALS)."""
    profile: Literal["cpu", "gpu"] = "cpu"
    """Where a trained policy runs."""
    rescore: Path | None = None
    """Score this folder's stored dialogues again and play nothing."""
    user: Literal["agenda", "llm"] = "agenda"
    """ConvLab's agenda user, or a language model with the goal in its prompt."""
    wordings: Wordings = "all"
    """Which of the agenda user's sentences: all, those seen in training, or those held out."""
    base_url: str = OPENAI
    """The server of ``endpoint:MODEL``; any that speaks OpenAI's protocol."""
    temperature: float | None = 0.0
    """Of ``endpoint:MODEL``; None leaves it to the server."""
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
    concurrency: int = DEFAULT_CONCURRENCY
    """Dialogues in progress at once; changes speed, not scores."""
    processes: int = 1
    """More use more cores, for the scripted policy; changes speed, not scores."""

    @property
    def policy_name(self) -> str:
        return self.policy or self.run

    @property
    def folder(self) -> Path:
        goals = Path(self.goals).name.split(".")[0]
        name = f"eval-{self.policy_name}-{goals}".replace("/", "-").replace(":", "-")
        return self.out or Path("runs") / self.run / name

    @property
    def prices(self) -> Prices | None:
        if self.prompt_usd is None and self.completion_usd is None:
            return None
        return Prices(prompt=self.prompt_usd or 0.0, completion=self.completion_usd or 0.0)

    @property
    def endpoint(self) -> EndpointConfig:
        """The policy's endpoint, when it is one."""
        model = self.policy.removeprefix(PREFIX)
        return EndpointConfig(model, self.base_url, temperature=self.temperature, timeout_s=self.timeout_s)

    def identity(self) -> dict[str, JsonValue]:
        """What has to agree for two runs to be the same one, beside the seed."""
        same: dict[str, JsonValue] = {
            "policy": self.policy_name,
            "dialogues": self.dialogues,
            "goals": self.goals,
            "user": self.user,
            "wordings": self.wordings,
        }
        if self.policy.startswith(PREFIX):
            same |= {"base_url": self.base_url, "temperature": self.temperature}
        elif self.policy != "scripted":
            same |= {"profile": self.profile}
        if self.user == "llm":
            same |= {"user_model": self.user_model, "user_base_url": self.user_base_url}
        return same


@dataclass(frozen=True)
class Evaluation:
    """A finished evaluation: the numbers and where the files are."""

    label: str
    folder: RunFiles
    report: Report


def evaluate(config: EvalConfig, open_policy: OpenPolicy, user_api_key: str | None = None) -> Evaluation:
    """Play what is missing and write the reports.

    :param open_policy: opens the policy of ``config``; picklable when ``config.processes`` is above 1.
    :raises InputError: the configuration cannot be run, or disagrees with what the folder holds.
    """
    _check(config)
    user_endpoint = EndpointConfig(
        config.user_model, config.user_base_url, temperature=None, timeout_s=config.timeout_s
    )
    user = UserConfig(config.user, config.wordings, user_endpoint if config.user_model else None, user_api_key)
    plans = plan_episodes(pick_goals(config.goals, config.dialogues, config.seed), config.seed)
    with start_run(config.folder, COMMAND, config.identity(), config.seed) as folder:
        try:
            episodes = play_in_processes(
                plans,
                partial(open_player, open_policy, user),
                processes=config.processes,
                folder=folder,
                concurrency=config.concurrency,
                label=config.policy_name,
                success=grounded_success,
            )
        except KeyboardInterrupt:
            kept = len(folder.episodes())
            raise KeyboardInterrupt(
                f"{kept} of {len(plans)} dialogues are kept in {folder.path}; give the same command to go on"
            ) from None
        return write_reports(folder, episodes, config.prices)


def grounded_success(episode: Episode) -> bool:
    """For the progress bar."""
    return grounded(episode).success


def rescore(path: Path, prices: Prices | None = None) -> Evaluation:
    """Score the stored dialogues of an evaluation again and rewrite its reports; plays nothing, needs no model.

    :raises InputError: ``path`` holds no evaluation.
    """
    folder = RunFiles(path)
    if folder.config().command != COMMAND:
        raise InputError(f"{path} was written by {folder.config().command}: give the folder of an evaluation")
    return write_reports(folder, folder.episodes(), prices)


def write_reports(folder: RunFiles, episodes: list[Episode], prices: Prices | None = None) -> Evaluation:
    """``report.json`` and ``report.html`` of an evaluation's dialogues."""
    config = folder.config()
    if not episodes:
        raise InputError(f"{folder.path} holds no finished dialogue: play some before scoring")
    policy = str(config.config["policy"])
    scored = score_episodes(episodes)
    report = build_report(scored, policy=policy, goals=str(config.config["goals"]), seed=config.seed, prices=prices)
    write_atomically(folder.report_json, report.model_dump_json(indent=2) + "\n")
    write_html(folder.report_html, [view_run(folder, policy, scored)], f"Evaluation of {policy}")
    return Evaluation(policy, folder, report)


def _check(config: EvalConfig) -> None:
    if config.dialogues < 1:
        raise InputError(f"--dialogues {config.dialogues} plays nothing: give 1 or more")
    if config.concurrency < 1:
        raise InputError(f"--concurrency {config.concurrency} plays nothing: give 1 or more")
    if config.processes < 1:
        raise InputError(f"--processes {config.processes} plays nothing: give 1 or more")
    if config.processes > 1 and config.policy != "scripted":
        raise InputError(f"--processes {config.processes} is for --policy scripted, not {config.policy_name}: give 1")
    if config.policy == PREFIX:
        raise InputError("--policy endpoint: names no model: give one such as endpoint:gpt-4.1")
    if config.user == "llm" and not config.user_model:
        raise InputError("--user llm needs a model: name it with --user-model, and its server with --user-base-url")
