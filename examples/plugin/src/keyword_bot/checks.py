"""A check of its own: its row and its function, beside each other."""

from collections.abc import Iterator

from turncheck.plugins import Facts, Fault, Name, check


@check(
    "response-shouts",
    "warning",
    title="A response is written in capitals",
    text="Users feel shouted at. Write it in sentence case.",
    wrong="utter_greet:\n- text: HELLO THERE",
    right="utter_greet:\n- text: Hello there",
    matters_always=True,
    about=("response",),
)
def response_shouts(facts: Facts) -> Iterator[Fault]:
    """A text with several letters, all of them capitals."""
    for response in facts.project.domain.responses.values():
        for variation in response.variations:
            letters = [letter for letter in variation.text or "" if letter.isalpha()]
            if len(letters) > 3 and all(letter.isupper() for letter in letters):
                about = (Name("response", response.name),)
                yield Fault(f"The response '{response.name}' shouts.", response.location, about=about)
