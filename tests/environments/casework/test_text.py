"""The text form: what is read, what is written, and how faults are told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.support_world import SupportWorlds
from environments.casework.actions import Action
from environments.casework.casefile import Casefile
from environments.casework.cases import Case
from environments.casework.text import Decision, FormatFault, act_on, chat, read_output, write_output


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("", "no JSON object"),
        ("0", "keys"),
        ("invoke_order_service", "no JSON object"),
        ('{"action_id": 0}', "keys"),
        ('{"reasoning": "x", "action_id": 0, "more": 1}', "keys"),
        ('{"reasoning": "x", "action_id": "0"}', "whole number"),
        ('{"reasoning": "x", "action_id": 13}', "0 to 12"),
        ('{"reasoning": "x", "action_id": -1}', "0 to 12"),
        ('{"reasoning": "x", "action_id": true}', "whole number"),
        ('{"reasoning": "x", "action_id": 1.0}', "whole number"),
        ('{"reasoning": 5, "action_id": 1}', "reasoning has to be a text"),
        ('```json\n{"reasoning": "x", "action_id": 1}\n```', "no JSON object"),
        ('{"reasoning": "x", "action_id": 1} so be it', "no JSON object"),
    ],
)
def test_anything_else_is_a_format_fault_with_a_readable_correction(output: str, said: str):
    read = read_output(output)
    assert isinstance(read, FormatFault)
    assert said in read.correction
    assert '{"reasoning": "...", "action_id": 0}' in read.correction


@given(reasoning=st.text(), action=st.sampled_from(list(Action)))
def test_what_is_written_is_read(reasoning: str, action: Action):
    assert read_output(write_output(action, reasoning)) == Decision(action, reasoning)


@given(output=st.text() | st.from_regex(r'\{"reasoning": ".*", "action_id": .*\}'))
def test_no_output_breaks_the_reader(output: str):
    assert isinstance(read_output(output), Decision | FormatFault)


def test_the_chat_holds_the_query_the_answers_and_corrections(worlds: SupportWorlds, cases: list[Case]):
    case = next(each for each in cases if not each.faults)
    outputs = ["no idea", write_output(case.gold_actions()[0], "look first")]
    with worlds.open() as world:
        casefile = Casefile(case, world)
        for output in outputs:
            act_on(casefile, output)
        messages = chat(case.text, casefile.steps, outputs)
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert all(action.label in messages[0]["content"] for action in Action)
    assert messages[1]["content"] == f"Customer: {case.text}"
    assert messages[3]["content"].startswith("That is no JSON object.")
    assert messages[5]["content"] == casefile.steps[1].text
    assert (casefile.format_faults, len(casefile.steps)) == (1, 2)
    assert casefile.steps[0].reward == -1.5
