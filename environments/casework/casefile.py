"""A case at work: actions in, answers and signals out, over a private world.

Owns the rules of the game (which operation an action comes to, when a case ends, what counts as resolved) for both
forms, the vector one (``env``) and the text one (``text``), so that the two cannot disagree. A case is resolved only if
everything needed was found out, the journal of the database says that exactly the expected fields changed, and the
right terminal action was taken.
"""

from dataclasses import dataclass, replace
from typing import Final

from db.support_world import SupportWorld
from environments.casework.actions import ACTION_OF, MAX_STEPS, SERVICE_OF, Action
from environments.casework.cases import Case
from environments.casework.requests import next_operation
from environments.casework.reward import Event, Ledger, Signal
from tools.support.desk import Desk, service_of
from tools.support.results import FAULTS, Answer, Fact, Operation, Outcome, Service

_NO_HINT: Final = "No further hint is given in this case."


@dataclass(frozen=True, slots=True)
class Step:
    """One step as it came out."""

    action: Action | None
    """``None``: the output could not be read."""
    operation: Operation | None
    outcome: Outcome | None
    """Of the service that was invoked."""
    text: str
    """What the agent is told."""
    signals: dict[Signal, float]
    breach: bool = False

    @property
    def reward(self) -> float:
        return sum(self.signals.values())


class Casefile:
    """One case in progress. The world is the caller's, who closes it."""

    def __init__(self, case: Case, world: SupportWorld) -> None:
        self.case = case
        self.steps: list[Step] = []
        self.facts: set[Fact] = set()
        self.outcomes: dict[Service, Outcome] = {}
        """How the last call of each service came out."""
        self.hint: Action | None = None
        """What was advised, when a hint was taken."""
        self.closed = False
        self._world = world
        self._desk = Desk(world.sessions, case.faults)
        self._inquiry = case.inquiry()
        self._settled: set[Operation] = set()
        self._ledger = Ledger(case.form.needs, case.form.terminal)
        self._found: set[tuple[Operation, Fact]] = set()

    @property
    def order_known(self) -> bool:
        """Whether a number of the order was said or found."""
        return self._inquiry.order_id is not None

    @property
    def resolved(self) -> bool:
        return self._ledger.resolved

    @property
    def breaches(self) -> int:
        return self._ledger.breaches

    @property
    def format_faults(self) -> int:
        return self._ledger.format_faults

    @property
    def out_of_steps(self) -> bool:
        """Whether the case was taken away before it was closed."""
        return not self.closed and len(self.steps) >= MAX_STEPS

    @property
    def over(self) -> bool:
        return self.closed or len(self.steps) >= MAX_STEPS

    @property
    def reward(self) -> float:
        """What has been earned so far."""
        return sum(step.reward for step in self.steps)

    def gold_action(self) -> Action:
        """What a clerk who knew the case's shape would do next."""
        for need in self.case.form.needs:
            if (need.operation, need.fact) not in self._found:
                return ACTION_OF[service_of(need.operation)]
        return self.case.form.terminal

    def act(self, action: Action) -> Step:
        """Take one action. The case must not be over."""
        service = SERVICE_OF.get(action)
        if service is not None:
            return self._call(action, service)
        if action is Action.CONSULT_LLM:
            return self._consult(action)
        self.closed = True
        consistent = self._ledger.complete and self._world.changes() == self.case.expected_changes()
        return self._record(Event(action, consistent=consistent), "The case is closed.")

    def reject(self, correction: str) -> Step:
        """Count an output that names no action; ``correction`` is what the agent is told."""
        return self._record(Event(None), correction)

    def _call(self, action: Action, service: Service) -> Step:
        operation = next_operation(self.case.request, service, self._settled, self.facts)
        answer = self._desk.call(operation, self._inquiry)
        self.outcomes[service] = answer.outcome
        if answer.outcome not in FAULTS:
            self._learn(operation, answer)
        return self._record(Event(action, answer, operation), answer.text)

    def _learn(self, operation: Operation, answer: Answer) -> None:
        if answer.outcome == "done" or answer.facts:
            self._settled.add(operation)
        self.facts.update(answer.facts)
        self._found.update((operation, fact) for fact in answer.facts)
        if answer.order_id is not None and self._inquiry.order_id is None:
            self._inquiry = replace(self._inquiry, order_id=answer.order_id)

    def _consult(self, action: Action) -> Step:
        if self.hint is not None:
            return self._record(Event(action), _NO_HINT)
        self.hint = self.gold_action()
        return self._record(Event(action), f"Hint: {self.hint.label} comes next.")

    def _record(self, event: Event, text: str) -> Step:
        answer = event.answer
        step = Step(
            action=event.action,
            operation=event.operation,
            outcome=answer.outcome if answer else None,
            text=text,
            signals=self._ledger.score(event),
            breach=answer is not None and answer.breach,
        )
        self.steps.append(step)
        return step
