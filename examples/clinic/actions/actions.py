"""The clinic's custom actions, served by rasa-sdk: ``rasa run actions``."""

from __future__ import annotations

from typing import Any

from rasa_sdk import Action, FormValidationAction, Tracker
from rasa_sdk.events import EventType, SlotSet
from rasa_sdk.executor import CollectingDispatcher

from actions import clinic_data as clinic

Slots = dict[str, Any]


class ValidateAppointmentForm(FormValidationAction):
    """Accepts only departments, days and times that the clinic has."""

    def name(self) -> str:
        return "validate_appointment_form"

    async def required_slots(
        self, domain_slots: list[str], dispatcher: CollectingDispatcher, tracker: Tracker, domain: Slots
    ) -> list[str]:
        """Who names a doctor need not name the department."""
        if clinic.find_doctor(tracker.get_slot("doctor"), None):
            return [slot for slot in domain_slots if slot != "specialty"]
        return domain_slots

    def validate_specialty(
        self, value: Any, dispatcher: CollectingDispatcher, tracker: Tracker, domain: Slots
    ) -> Slots:
        doctor = clinic.find_doctor(None, str(value))
        if doctor is None:
            dispatcher.utter_message(text=f"We don't have {value} here, I'm afraid.")
            return {"specialty": None}
        return {"specialty": doctor.specialty}

    def validate_day(self, value: Any, dispatcher: CollectingDispatcher, tracker: Tracker, domain: Slots) -> Slots:
        return {"day": open_day(value, dispatcher)}

    def validate_time(self, value: Any, dispatcher: CollectingDispatcher, tracker: Tracker, domain: Slots) -> Slots:
        time = clinic.normal_time(str(value))
        if time is None or not clinic.is_open_at(time):
            dispatcher.utter_message(text="We see patients between 8:00 and 18:00 only.")
            return {"time": None}
        return {"time": time}

    def validate_patient_number(
        self, value: Any, dispatcher: CollectingDispatcher, tracker: Tracker, domain: Slots
    ) -> Slots:
        return {"patient_number": patient_number(value, dispatcher)}


class ValidateMoveForm(FormValidationAction):
    """Accepts only days on which the clinic is open."""

    def name(self) -> str:
        return "validate_move_form"

    def validate_new_day(self, value: Any, dispatcher: CollectingDispatcher, tracker: Tracker, domain: Slots) -> Slots:
        return {"new_day": open_day(value, dispatcher)}

    def validate_patient_number(
        self, value: Any, dispatcher: CollectingDispatcher, tracker: Tracker, domain: Slots
    ) -> Slots:
        return {"patient_number": patient_number(value, dispatcher)}


class ValidateRefillForm(FormValidationAction):
    """Accepts only medicines on repeat prescription."""

    def name(self) -> str:
        return "validate_refill_form"

    def validate_medication(
        self, value: Any, dispatcher: CollectingDispatcher, tracker: Tracker, domain: Slots
    ) -> Slots:
        medication = str(value).lower()
        if medication not in clinic.REFILLS_LEFT:
            dispatcher.utter_message(text=f"{value} is not on repeat prescription, a doctor has to prescribe it.")
            return {"medication": None}
        return {"medication": medication}

    def validate_patient_number(
        self, value: Any, dispatcher: CollectingDispatcher, tracker: Tracker, domain: Slots
    ) -> Slots:
        return {"patient_number": patient_number(value, dispatcher)}


def open_day(value: Any, dispatcher: CollectingDispatcher) -> str | None:
    """The working day that was named; otherwise tells why not and returns ``None``."""
    day = clinic.normal_day(str(value))
    if day in clinic.WORKING_DAYS:
        return day
    dispatcher.utter_message(text=f"We're closed on {day}s." if day else "I didn't get the day.")
    return None


def patient_number(value: Any, dispatcher: CollectingDispatcher) -> str | None:
    """The patient number in its normal form; otherwise tells what it looks like and returns ``None``."""
    number = clinic.normal_patient_number(str(value))
    if number is None:
        dispatcher.utter_message(text="A patient number looks like R204417.")
    return number


class BookAppointment(Action):
    """Books what the form has collected, on the doctor's next day if that one is off."""

    def name(self) -> str:
        return "action_book_appointment"

    def run(self, dispatcher: CollectingDispatcher, tracker: Tracker, domain: Slots) -> list[EventType]:
        doctor = clinic.find_doctor(tracker.get_slot("doctor"), tracker.get_slot("specialty"))
        day, time = tracker.get_slot("day"), tracker.get_slot("time")
        if doctor and day in doctor.days:
            text = f"Booked: {day} at {time} with Dr {doctor.surname}, {doctor.specialty}."
        elif doctor:
            text = (
                f"Dr {doctor.surname} isn't in on {day}, so I booked {doctor.days[0]} at {time} instead. "
                "Tell me if that doesn't suit you."
            )
        else:
            text = "Something went wrong with the booking, please call reception."
        dispatcher.utter_message(text=text)
        return [SlotSet(name, None) for name in ("specialty", "doctor", "day", "time", "symptom")]


class FindAppointment(Action):
    """Looks for the patient's appointment; ``appointment_found`` stays unset without a number."""

    def name(self) -> str:
        return "action_find_appointment"

    def run(self, dispatcher: CollectingDispatcher, tracker: Tracker, domain: Slots) -> list[EventType]:
        number = clinic.normal_patient_number(tracker.get_slot("patient_number") or "")
        if number is None:
            return [SlotSet("appointment_found", None), SlotSet("appointment", None)]
        appointment = clinic.APPOINTMENTS.get(number)
        return [
            SlotSet("patient_number", number),
            SlotSet("appointment_found", appointment is not None),
            SlotSet("appointment", str(appointment) if appointment else None),
        ]


class CancelAppointment(Action):
    """Hands the cancellation to reception."""

    def name(self) -> str:
        return "action_cancel_appointment"

    def run(self, dispatcher: CollectingDispatcher, tracker: Tracker, domain: Slots) -> list[EventType]:
        dispatcher.utter_message(
            text=f"Your appointment on {tracker.get_slot('appointment')} is cancelled. "
            "You'll get a text message to confirm it."
        )
        return [SlotSet("appointment", None), SlotSet("appointment_found", None)]


class MoveAppointment(Action):
    """Moves the patient's appointment to the new day, if the doctor is in then."""

    def name(self) -> str:
        return "action_move_appointment"

    def run(self, dispatcher: CollectingDispatcher, tracker: Tracker, domain: Slots) -> list[EventType]:
        number, day = tracker.get_slot("patient_number"), tracker.get_slot("new_day")
        appointment = clinic.APPOINTMENTS.get(number or "")
        if appointment is None:
            text = f"I can't find an appointment under {number}, so there is nothing to move."
        elif day not in clinic.DOCTORS[appointment.doctor].days:
            days = clinic.listed(clinic.DOCTORS[appointment.doctor].days)
            text = f"Dr {appointment.doctor} is only in on {days}. I left it on {appointment.day}."
        else:
            text = f"Done. Instead of {appointment.day} you now come on {day} at {appointment.time}."
        dispatcher.utter_message(text=text)
        return [SlotSet("new_day", None), SlotSet("day", None)]


class CheckAvailability(Action):
    """Tells when a doctor, or a department, sees patients."""

    def name(self) -> str:
        return "action_check_availability"

    def run(self, dispatcher: CollectingDispatcher, tracker: Tracker, domain: Slots) -> list[EventType]:
        doctor = named_doctor(tracker)
        day = clinic.normal_day(next(tracker.get_latest_entity_values("day"), None) or "")
        if doctor and day:
            word = "Yes" if day in doctor.days else "No"
            text = f"{word}, Dr {doctor.surname} is in on {clinic.listed(doctor.days)}."
        elif doctor:
            text = f"Dr {doctor.surname} sees patients on {clinic.listed(doctor.days)}."
        elif day:
            surnames = tuple(f"Dr {one.surname}" for one in clinic.DOCTORS.values() if day in one.days)
            text = f"On {day} you can see {clinic.listed(surnames)}." if surnames else f"We're closed on {day}s."
        else:
            text = "Which doctor or which department would you like to see?"
        dispatcher.utter_message(text=text)
        return []


class DescribeDoctor(Action):
    """Introduces a doctor, or lists all of them."""

    def name(self) -> str:
        return "action_describe_doctor"

    def run(self, dispatcher: CollectingDispatcher, tracker: Tracker, domain: Slots) -> list[EventType]:
        doctor = named_doctor(tracker)
        if doctor:
            text = (
                f"Dr {doctor.surname} ({doctor.specialty}) {doctor.about}, "
                f"and speaks {clinic.listed(doctor.languages)}."
            )
        else:
            everybody = tuple(f"Dr {one.surname} ({one.specialty})" for one in clinic.DOCTORS.values())
            text = f"Our doctors are {clinic.listed(everybody)}."
        dispatcher.utter_message(text=text)
        return []


def named_doctor(tracker: Tracker) -> clinic.Doctor | None:
    """The doctor that the last message names, by name or by department."""
    return clinic.find_doctor(
        next(tracker.get_latest_entity_values("doctor"), None),
        next(tracker.get_latest_entity_values("specialty"), None),
    )


class SuggestSpecialty(Action):
    """Names the department for the symptoms that were told, and keeps it for a booking."""

    def name(self) -> str:
        return "action_suggest_specialty"

    def run(self, dispatcher: CollectingDispatcher, tracker: Tracker, domain: Slots) -> list[EventType]:
        specialty = clinic.specialty_for(tracker.get_slot("symptom") or [])
        doctor = clinic.BY_SPECIALTY[specialty.lower()]
        text = f"That sounds like something for {specialty}; Dr {doctor.surname} can have a look."
        dispatcher.utter_message(text=text)
        return [SlotSet("specialty", specialty), SlotSet("doctor", None)]


class OrderRefill(Action):
    """Orders the medicine, or says that a doctor has to sign first."""

    def name(self) -> str:
        return "action_order_refill"

    def run(self, dispatcher: CollectingDispatcher, tracker: Tracker, domain: Slots) -> list[EventType]:
        medication = tracker.get_slot("medication")
        where = "posted to you" if tracker.get_slot("wants_post") else "waiting at the front desk"
        if clinic.REFILLS_LEFT.get(medication, 0) > 0:
            text = f"The prescription for {medication} will be {where} tomorrow."
        else:
            text = f"There are no refills left for {medication}; once the doctor has signed, it will be {where}."
        dispatcher.utter_message(text=text)
        return [SlotSet("medication", None), SlotSet("wants_post", None)]


class CheckRefill(Action):
    """Tells whether a prescription can be collected."""

    def name(self) -> str:
        return "action_check_refill"

    def run(self, dispatcher: CollectingDispatcher, tracker: Tracker, domain: Slots) -> list[EventType]:
        medication = next(tracker.get_latest_entity_values("medication"), None)
        if medication is None:
            text = "Which medicine are you waiting for?"
        elif medication.lower() in clinic.READY_AT_THE_DESK:
            text = f"Yes, {medication.lower()} is ready at the front desk."
        else:
            text = f"{medication.capitalize()} isn't ready yet. We'll text you as soon as it is."
        dispatcher.utter_message(text=text)
        return [SlotSet("medication", None)]


class ForgetAppointment(Action):
    """Forgets the appointment that was looked up, so that the next question starts afresh."""

    def name(self) -> str:
        return "action_forget_appointment"

    def run(self, dispatcher: CollectingDispatcher, tracker: Tracker, domain: Slots) -> list[EventType]:
        return [SlotSet("appointment_found", None), SlotSet("appointment", None)]
