"""Casework's policies by name, those that were trained among them.

Light on purpose: torch is imported only when a policy needs it.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from db.errors import InputError
from environments.casework.chat_policy import ChatPolicy
from environments.casework.policies import GoldPolicy, HeuristicPolicy, Policy, RandomPolicy
from evaluation.config import EvalConfig
from simulation.endpoint import PREFIX, EndpointConfig, open_endpoint

FIXED: dict[str, Policy] = {policy.name: policy for policy in (GoldPolicy(), RandomPolicy(), HeuristicPolicy())}
"""Policies that nobody trains."""


def open_case_policy(config: EvalConfig, api_key: str | None) -> AbstractAsyncContextManager[Policy]:
    """The policy that ``--policy`` names.

    :raises InputError: there is none of that name.
    """
    if config.policy_name in FIXED:
        return nullcontext(FIXED[config.policy_name])
    if config.policy.startswith(PREFIX):
        return _open_chat(config.endpoint, api_key)
    if config.policy_name == "sac":
        from training.casework_sac import load_sac

        return nullcontext(load_sac(config.run))
    raise InputError(
        f"--policy {config.policy_name} is unknown in casework: give {', '.join(FIXED)}, sac or endpoint:MODEL"
    )


@asynccontextmanager
async def _open_chat(endpoint: EndpointConfig, api_key: str | None) -> AsyncIterator[Policy]:
    async with open_endpoint(endpoint, api_key) as source:
        yield ChatPolicy(source.name, source.chat_model)
