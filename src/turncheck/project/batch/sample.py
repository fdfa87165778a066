"""A sample suite: each case shows something else that a suite can hold."""

from __future__ import annotations

from typing import Final

from turncheck.project.batch.model import ExpectedEntity, SuiteCase

SAMPLE: Final = (
    SuiteCase("I want to order tea", ("Order Tea",)),
    SuiteCase(
        "send 3 boxes of mint tea to Lyon",
        ("Order Tea",),
        entities=(
            ExpectedEntity("Quantity", ("3",)),
            ExpectedEntity("Kind", ("mint", "mint tea")),
            ExpectedEntity("City", ("Lyon",)),
        ),
        order=("Quantity", "Kind", "City"),
    ),
    SuiteCase(
        "one bag of green and one of black tea", ("Order Tea",), entities=(ExpectedEntity("Kind", ("green||black",)),)
    ),
    SuiteCase("deliver it on 31 January", ("Order Tea",), entities=(ExpectedEntity("Day", (r"2\d{3}-01-31",)),)),
    SuiteCase(
        "bring it to Lyon on 31 January",
        ("Order Tea",),
        entities=(ExpectedEntity("Delivery", ("City:Lyon|Day:2026-01-31",)),),
    ),
    SuiteCase("make it two instead", ("Change Quantity",), parent=("Order Tea",)),
    SuiteCase("I need help with my parcel", ("Track Parcel", "Where is my parcel?")),
    SuiteCase("do you ship abroad", ("Do you deliver to other countries?",)),
    SuiteCase("thanks a lot", ("thank you",)),
    SuiteCase("which ones", ("Which do you like?",), parent=("Do you drink tea?", "Me too")),
    SuiteCase("this is the third time that it is late", ("Complaint", "Urgent"), is_trait=True),
    SuiteCase("how is the weather", ()),
)
"""A dialog, entities with alternatives and their order, several items, a pattern, a composite entity, a sub-intent,
alternative intents, an FAQ, small talk and its follow-up, traits, and an utterance that may match nothing."""
