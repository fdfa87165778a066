"""What the clinic knows: departments, doctors, booked appointments, prescriptions.

A real clinic would ask its records system. Here it is a table, so that tests need nothing else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

WORKING_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
FIRST_SLOT, LAST_SLOT = 8 * 60, 17 * 60 + 45  # minutes after midnight


@dataclass(frozen=True)
class Doctor:
    """One doctor and the days on which patients are seen."""

    surname: str
    specialty: str
    days: tuple[str, ...]
    languages: tuple[str, ...]
    about: str


@dataclass(frozen=True)
class Appointment:
    """A booked visit."""

    doctor: str
    day: str
    time: str

    def __str__(self) -> str:
        return f"{self.day} at {self.time} with Dr {self.doctor}"


DOCTORS = {
    doctor.surname: doctor
    for doctor in (
        Doctor("Chen", "cardiology", ("Monday", "Wednesday", "Friday"), ("English", "Mandarin"),
               "looks after hearts and blood pressure, and does the heart scans"),
        Doctor("Okafor", "dermatology", ("Tuesday", "Thursday"), ("English", "Igbo"),
               "treats skin, from eczema to moles, and operates on small ones herself"),
        Doctor("Lindqvist", "general practice", WORKING_DAYS, ("English", "Swedish"),
               "has been the family doctor here for twenty years"),
        Doctor("Haddad", "paediatrics", ("Monday", "Tuesday", "Thursday"), ("English", "Arabic", "French"),
               "sees children from birth to sixteen"),
        Doctor("Moreau", "ophthalmology", ("Wednesday", "Friday"), ("English", "French"),
               "tests and treats eyes, cataracts above all"),
        Doctor("Novak", "orthopaedics", ("Monday", "Thursday"), ("English", "Czech"),
               "is a surgeon for knees, hips and shoulders"),
        Doctor("Price", "gynaecology", ("Tuesday", "Wednesday"), ("English", "Welsh"),
               "is a gynaecologist and midwife by training"),
        Doctor("Sato", "ENT", ("Friday",), ("English", "Japanese"),
               "treats ears, noses and throats, and tests hearing"),
    )
}  # fmt: skip
BY_SPECIALTY = {doctor.specialty.lower(): doctor for doctor in DOCTORS.values()}

APPOINTMENTS = {
    "R204417": Appointment("Chen", "Wednesday", "10:15"),
    "R310552": Appointment("Moreau", "Friday", "14:30"),
    "R118903": Appointment("Novak", "Monday", "09:00"),
}

REFILLS_LEFT = {
    "amlodipine": 4,
    "atorvastatin": 2,
    "cetirizine": 6,
    "furosemide": 1,
    "levothyroxine": 3,
    "metformin": 5,
    "omeprazole": 0,
    "ramipril": 2,
    "salbutamol": 1,
    "sertraline": 0,
}
READY_AT_THE_DESK = {"metformin", "ramipril"}

SPECIALTY_OF_SYMPTOM = (
    ("dermatology", ("rash", "itch", "mole", "eczema", "spots", "skin")),
    ("orthopaedics", ("knee", "hip", "shoulder", "back", "swollen", "ankle")),
    ("ENT", ("ear", "ring", "voice", "throat")),
    ("ophthalmology", ("blurry", "red", "eye", "vision")),
    ("cardiology", ("palpitation", "beat", "heart")),
    ("gynaecology", ("irregular", "period")),
)


def normal_day(text: str) -> str | None:
    """The weekday that is named in ``text``, or ``None``: "next friday morning" → "Friday"."""
    for day in (*WORKING_DAYS, "Saturday", "Sunday"):
        if day.lower() in text.lower():
            return day
    return None


def normal_time(text: str) -> str | None:
    """A time of day as ``HH:MM``, or ``None``: "3 pm" → "15:00", "afternoon" → "14:00"."""
    if "morning" in text.lower():
        return "09:00"
    if "afternoon" in text.lower():
        return "14:00"
    found = re.search(r"\b(\d{1,2})(?::(\d{2}))?\s*(am|pm)?\b", text.lower())
    if found is None:
        return None
    hour, minute = int(found[1]), int(found[2] or 0)
    if found[3] == "pm" and hour < 12:
        hour += 12
    if hour > 23 or minute > 59:
        return None
    return f"{hour:02}:{minute:02}"


def is_open_at(time: str) -> bool:
    """Whether patients are seen at that time, given as ``HH:MM``."""
    hour, minute = time.split(":")
    return FIRST_SLOT <= int(hour) * 60 + int(minute) <= LAST_SLOT


def normal_patient_number(text: str) -> str | None:
    """A patient number as it stands on the card, or ``None``: "r204417" → "R204417"."""
    found = re.fullmatch(r"[Rr](\d{6})", text.strip())
    return f"R{found[1]}" if found else None


def find_doctor(surname: str | None, specialty: str | None) -> Doctor | None:
    """The doctor of that name, else the one of that department, else ``None``."""
    if surname and surname.title() in DOCTORS:
        return DOCTORS[surname.title()]
    if specialty:
        return BY_SPECIALTY.get(specialty.lower())
    return None


def specialty_for(symptoms: list[str]) -> str:
    """The department for what hurts; general practice where nothing more fitting is known."""
    for specialty, words in SPECIALTY_OF_SYMPTOM:
        if any(word in symptom.lower() for symptom in symptoms for word in words):
            return specialty
    return "general practice"


def listed(words: tuple[str, ...]) -> str:
    """Words as in a sentence: "a", "a and b", "a, b and c"."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
