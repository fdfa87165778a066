"""Our own checks of the formats of Rasa 0.x, 1.x and 2.x: what they drop, refuse, or misread."""

from turncheck.validation.checks import own_check as _check

OLDER_CHECKS = (
    _check(
        "markdown-ignored",
        "warning",
        "A line of training data is ignored",
        "Rasa silently skips it: it is neither a header nor an item, comes before the first header, or belongs"
        " to another kind of file. Correct the line, or convert the file: in YAML nothing is skipped silently.",
        "## intent:greet\nhello\n- hi there",
        "## intent:greet\n- hello\n- hi there",
        matters_always=True,
    ),
    _check(
        "markdown-refused",
        "error",
        "Rasa ends at a line of training data",
        "Nothing is trained or tested while it is there. Correct the line as the finding says, or convert the file.",
        "## intent :greet\n- hello",
        "## intent:greet\n- hello",
        matters_always=True,
    ),
    _check(
        "markdown-read-otherwise",
        "warning",
        "A line of training data means something else than it seems to",
        "Rasa finds a header in an item, keeps a blank in a name, drops a condition, or reads a comment as text. Write"
        " it so that it says what it means, or convert the file.",
        "## intent:ask\n- what does ## intent:greet mean",
        "## intent:ask\n- what does intent:greet mean",
        matters_always=True,
    ),
    _check(
        "lookup-file-missing",
        "error",
        "The file of a lookup table does not exist",
        "Training ends with an error. The path is relative to the folder in which Rasa is started.",
        "## lookup:town\ndata/town.txt",
        "## lookup:town\ndata/towns.txt",
        matters_always=True,
    ),
    _check(
        "data-not-json",
        "error",
        "A file of NLU data is not JSON",
        "Rasa silently skips the whole file, so that its sentences are missing. Correct it, or convert it.",
        '{"rasa_nlu_data": {"common_examples": [],}}',
        '{"rasa_nlu_data": {"common_examples": []}}',
        matters_always=True,
    ),
    _check(
        "data-format-unknown",
        "error",
        "A JSON file of an older project is of no known format",
        "Its keys are not those of Rasa, LUIS, Wit.ai or Dialogflow. Rasa 0 ends at it, Rasa 1 and 2 silently skip"
        " the whole file. Export it again, correct its keys, or move it out of the data folder.",
        '{"sentences": [{"text": "hello", "intent": "greet"}]}',
        '{"rasa_nlu_data": {"common_examples": [{"text": "hello", "intent": "greet"}]}}',
        matters_always=True,
    ),
    _check(
        "markdown-of-form",
        "info",
        "A line of a story was written while a form was active",
        "Interactive learning writes what was said and done within a form as `* form: …` and `- form: …`. Rasa skips"
        " such lines; the form's own events count.",
        '* form: inform{"drink": "tea"}',
        '- form{"name": "order_form"}',
    ),
    _check(
        "entity-out-of-range",
        "warning",
        "An entity is outside its sentence",
        "Rasa does not check offsets, and learns nothing from such an entity. Offsets count characters from 0, the end"
        " exclusive; other tools count bytes, or include the end.",
        '{"text": "to Rome", "entities": [{"start": 3, "end": 9, "entity": "city"}]}',
        '{"text": "to Rome", "entities": [{"start": 3, "end": 7, "entity": "city"}]}',
        matters_always=True,
    ),
)
