"""What can be wrong with end-to-end test cases: found by `test e2e` and by the e2e evaluation of a run."""

from typing import Final

from turncheck.validation.checks import Check


def _check(code: str, title: str, text: str, wrong: str, right: str) -> Check:
    """A check of the cases. It is silent in ``data validate``, which does not run them."""
    return Check(code, "warning" if code == "e2e-doubtful" else "error", "never", "cases", title, text, wrong, right)


CASE_CHECKS: Final = (
    _check(
        "e2e-not-found",
        "There are no such end-to-end test cases",
        "The path does not exist, or its file has no case with the name after `::`. Correct it.",
        "turncheck test e2e tests/e2e_test_cases.yml::order a piza",
        "turncheck test e2e tests/e2e_test_cases.yml::order a pizza",
    ),
    _check(
        "e2e-syntax",
        "An end-to-end test case cannot be read",
        "An unknown key, a wrong type, a missing fixture or case, a name that appears twice, an event of a stub that"
        " no action server could send. Correct it.",
        "test_cases:\n- test_case: greet\n  steps:\n  - user: hello\n  - bott: Hello!",
        "test_cases:\n- test_case: greet\n  steps:\n  - user: hello\n  - bot: Hello!",
    ),
    _check(
        "e2e-doubtful",
        "Something in an end-to-end test case has no effect",
        "Nothing is expected after a message, no case uses a fixture, a case has both steps and assertions (only the"
        " assertions count), a value of a stub has no placeholder in the response. Complete it, or remove it.",
        "test_cases:\n- test_case: greet\n  steps:\n  - user: hello\n  - user: good bye\n  - utter: utter_goodbye",
        "test_cases:\n- test_case: greet\n  steps:\n  - user: hello\n  - utter: utter_greet\n  - user: good bye\n"
        "  - utter: utter_goodbye",
    ),
    _check(
        "e2e-unknown-name",
        "An end-to-end test case names what the domain does not have",
        "A slot that does not exist makes a test fail, or pass, whatever the assistant does. Correct the name. It is"
        " a warning if the name can only make the test fail (a response, an action), and for an assistant with flows,"
        " which also has Rasa Pro's own slots, actions and responses.",
        "test_cases:\n- test_case: order\n  steps:\n  - user: a large pizza\n  - slot_was_set:\n    - sise: large",
        "test_cases:\n- test_case: order\n  steps:\n  - user: a large pizza\n  - slot_was_set:\n    - size: large",
    ),
)
