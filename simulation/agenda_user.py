"""ConvLab's agenda user behind the ``User`` protocol: a goal, a seed, and the repaired policy.

The system acts it understands are ``(intent, domain, slot, value)``, intents and slots lower-case, slots in MultiWOZ's
spelling, the domain ``hotel``, ``restaurant`` or (bye, greet, reqmore, welcome) ``general``:

=============  ==========================================================================================
``inform``     a fact of the venue talked about: area, pricerange, phone, postcode, address, type, stars,
               internet, parking, food, name; ``choice`` with the number of matches ("0" counts as nooffer, more
               than one makes the user say "pick one"); a booking detail as the system understood it: people, day,
               stay, time (a wrong one is corrected); ``ref`` with the reference (noted by the evaluator only)
``recommend``  as inform, for a venue that is proposed
``request``    a slot the system asks for, value ``""``: any constraint or booking slot
``select``     a slot and one of several values offered to choose from
``nooffer``    no venue matches; slots are ignored: ``("nooffer", "hotel", "", "")``
``book``       the booking is made: ``("book", "hotel", "", "")``; the evaluator reads the venue's 8-digit index
               from its value or from the same turn's ``inform ref``
``nobook``     the booking was refused: ``("nobook", "hotel", "", "")``
``offerbook``  the system offers to book; a user with nothing to book declines
``bye`` ...    general acts change nothing; the user says goodbye when its own goal is done
=============  ==========================================================================================

Acts of domains outside the goal are ignored. Two users with the same goal, seed and options say the same to the same
acts, whatever else runs in the process.
"""

import random
from collections.abc import Sequence

from simulation.act_names import from_unified, to_unified
from simulation.convlab_adapter import UserPolicyAgendaMultiWoz, drawing_from
from simulation.fixed_agenda import DomainGoals, FixedUserPolicy, agenda_goal
from simulation.fixes import ALL_FIXES, NO_FIXES, Fixes
from simulation.records import Act, Goal
from simulation.users import AgentTurn, UserTurn
from simulation.wordings import Wordings, render


class AgendaUser:
    """One dialogue's user. ``fixes=NO_FIXES`` plays ConvLab's own class."""

    def __init__(self, goal: Goal, seed: int, fixes: Fixes = ALL_FIXES, wordings: Wordings = "all") -> None:
        self.name = ":".join(
            ["agenda", *(["stock"] if fixes == NO_FIXES else []), *([] if wordings == "all" else [wordings])]
        )
        self._acting = random.Random(f"acts-{seed}-{goal.id}")
        # Apart, so that another wording never changes what the user wants to say.
        self._wording = random.Random(f"words-{seed}-{goal.id}")
        self._wordings: Wordings = wordings
        self._policy = UserPolicyAgendaMultiWoz() if fixes == NO_FIXES else FixedUserPolicy(fixes)
        with drawing_from(self._acting):
            self._policy.init_session(agenda_goal(goal))

    async def open(self) -> UserTurn:
        """The first thing the user says."""
        return self._turn(())

    async def reply(self, agent: AgentTurn) -> UserTurn:
        """The answer to the agent's acts; its text is not read."""
        return self._turn(agent.acts)

    def act(self, system_acts: Sequence[Act]) -> tuple[tuple[Act, ...], bool]:
        """One turn at act level: the user's acts, and whether it is done. ``()`` opens the dialogue."""
        with drawing_from(self._acting):
            acts = self._policy.predict(to_unified(system_acts))
        return from_unified(acts), self._policy.is_terminated()

    def answered(self) -> DomainGoals:
        """The goal in ConvLab's form with what the user was told so far, for looking into."""
        return self._policy.get_goal()

    def _turn(self, system_acts: Sequence[Act]) -> UserTurn:
        acts, done = self.act(system_acts)
        return UserTurn(render(acts, self._wording, self._wordings), acts, done)
