"""Our own checks of the training and test data: what is allowed but makes the assistant worse."""

from turncheck.validation.checks import own_check as _check

EXAMPLES = (
    _check(
        "legacy-project",
        "error",
        "Rasa 3 would refuse the project: it is written for an older version",
        "The project is judged by the rules of its own version. All that Rasa 3 would refuse or skip is this one"
        " finding, with the place of each: a note, and with `data validate --target 3` an error. `turncheck data"
        " convert` converts the project to Rasa 3.",
        "templates:\n  utter_more:\n  - text: More?",
        "responses:\n  utter_more:\n  - text: More?",
        details='A file that declares itself as Rasa 3 (`version: "3.1"`, `recipe`) counts as such.',
        about=("version",),
    ),
    _check(
        "rasa-versions-mixed",
        "warning",
        "The project mixes versions of Rasa",
        "Some of its files are written for one version of Rasa, others for another. The newest of these versions"
        " counts; it skips or refuses what only an older one reads. Convert the named parts, or remove them.",
        'version: "3.1"\ntemplates:\n  utter_more:\n  - text: More?',
        'version: "3.1"\nresponses:\n  utter_more:\n  - text: More?',
        about=("version",),
    ),
    _check(
        "regex-invalid",
        "error",
        "A regular expression does not compile",
        "Training ends with an error. Correct the pattern; Python's `re` syntax counts.",
        "- regex: order_id\n  examples: |\n    - [0-9{5}",
        "- regex: order_id\n  examples: |\n    - [0-9]{5}",
        matters_always=True,
        about=("place",),
    ),
    _check(
        "pattern-unread",
        "warning",
        "A regex or lookup table is faulty, and no component reads it",
        "Rasa trains all the same: only `RegexFeaturizer` reads them all, and `RegexEntityExtractor` those named like an"
        " annotated entity. Correct it, or remove it.",
        "- regex: order_id\n  examples: |\n    - [0-9{5}",
        "- regex: order_id\n  examples: |\n    - [0-9]{5}",
        matters_always=True,
        about=("place",),
    ),
    _check(
        "keyword-not-regex",
        "error",
        "A sentence is not a keyword, since it is not a regular expression",
        "`KeywordIntentClassifier` uses each training sentence as the body of a regular expression, and training ends"
        " with an error at this one. Write the sentence without the character, or a backslash before it, or use another"
        " classifier.",
        "- intent: handoff\n  examples: |\n    - i want human :(",
        "- intent: handoff\n  examples: |\n    - i want human",
        matters_always=True,
        about=("place",),
    ),
    _check(
        "training-refused",
        "error",
        "The assistant cannot be trained, or its tests cannot be run",
        "The fault occurred in `run`, while a part of the assistant was trained or before a test began; `data"
        " validate` trains nothing. Tests that need that part are not judged, and the run fails.",
        "pipeline:\n- name: WhitespaceTokenizer\n- name: LogisticRegressionClassifier",
        "pipeline:\n- name: WhitespaceTokenizer\n- name: CountVectorsFeaturizer\n- name: LogisticRegressionClassifier",
        matters_always=True,
        about=("place",),
    ),
    _check(
        "regex-backtracks",
        "warning",
        "A regular expression can take practically forever",
        "One long message can stop the assistant: there are too many ways in which the pattern can read it. Write it so"
        " that each text can be read in one way.",
        "- regex: number\n  examples: |\n    - ([0-9]+)*x",
        "- regex: number\n  examples: |\n    - [0-9]+x",
        details="A repetition within a repetition (`(a+)+x`) or of alternatives that overlap (`(a|aa)+$`), with something"
        " after it that can fail, tries every way to split a sentence; so do four or more repetitions in a row that read"
        " the same (`(\\w+){1,5}x`) and bounded ones (`(\\w{1,10}){1,10}x`). Such patterns are tried on texts made for"
        " it, and steps are counted: up to 4,000,000 for a project. Whether case matters is taken from the pipeline:"
        " `RegexEntityExtractor` ignores it unless it has `case_sensitive: true`.",
        about=("place",),
    ),
    _check(
        "regex-not-checked",
        "info",
        "A regular expression is too large to be checked",
        "Compiling one of more than 200,000 characters, or with a hundred of the widest ranges, can take minutes, so"
        " it is not checked; nor is how it backtracks, if the patterns before it took all steps that there are. Use a"
        " lookup table, which takes a list of any length.",
        "- regex: product\n  examples: |\n    - (lamp|desk|… thousands more)",
        "- lookup: product\n  examples: |\n    - lamp\n    - desk",
        about=("place",),
    ),
    _check(
        "annotation-misaligned",
        "warning",
        "An annotation does not begin or end where a token does",
        "Extractors label whole tokens; Rasa drops or widens this one while training. Move the brackets to the ends"
        " of words.",
        "- I want [pizza](dish)s",
        "- I want [pizzas](dish)",
        matters_always=True,
        needs=("config",),
        about=("entity", "place"),
    ),
    _check(
        "annotation-broken",
        "warning",
        "Something that looks like an annotation is not one",
        "A bracket is missing, superfluous, swapped or separated by a space: Rasa silently reads all of it as plain text,"
        ' including the brackets, and the entity is lost. Write `[text](entity)` or `[text]{"entity": "name"}` without a space between'
        " the two. End-to-end test cases have no annotations: their text is sent as it is. Brackets in plain text are"
        " not reported, unless they look like an annotation.",
        "- I want a [big](size pizza\n- I want a [big] (size) pizza",
        "- I want a [big](size) pizza",
        matters_always=True,
        about=("place",),
    ),
    _check(
        "example-duplicate",
        "info",
        "The same example appears twice in one intent",
        "Rasa keeps one. Remove the other.",
        "- hello\n- hello",
        "- hello\n- hi there",
        about=("sentence", "intent"),
    ),
    _check(
        "example-nearly-in-several-intents",
        "warning",
        "Nearly the same sentence appears under two intents",
        "They differ only in case, punctuation, accents, order or one word; a classifier can hardly distinguish them."
        " Keep one, or make the difference between the intents visible.",
        "- intent: affirm\n  examples: |\n    - yes, please!\n- intent: order\n  examples: |\n    - Yes please",
        "- intent: affirm\n  examples: |\n    - yes, please!\n- intent: order\n  examples: |\n    - I want to order",
        details="Two sentences count as nearly the same if at least nine tenths of their characters are equal (the ratio"
        " of Python's `difflib`, with the words as they are or in alphabetical order; one word of ten may differ, of"
        " five words only letters), unless they differ only in words like `not` or `off`. Emoji make no difference: Rasa's"
        " WhitespaceTokenizer drops them.",
        about=("sentence", "intent"),
    ),
    _check(
        "example-differs-in-values-across-intents",
        "warning",
        "Two intents have sentences that differ only in entity values",
        "Only the value could decide the intent, and no classifier generalises that. Merge the intents, or ask for the"
        " value later.",
        "- intent: order_pizza\n  examples: |\n    - I want [pizza](dish)\n- intent: order_pasta\n  examples: |\n"
        "    - I want [pasta](dish)",
        "- intent: order\n  examples: |\n    - I want [pizza](dish)\n    - I want [pasta](dish)",
        about=("sentence", "intent"),
    ),
    _check(
        "example-differs-in-values-only",
        "info",
        "Examples of an intent differ only in entity values",
        "A few help, but many teach nothing new and outweigh the others. Use a lookup table for the values, and vary"
        " the sentences.",
        "- to [Rome](city)\n- to [Oslo](city)\n- to [Bern](city)\n- to [Bonn](city)\n- to [Nice](city)",
        "- to [Rome](city)\n- I travel to [Oslo](city) tomorrow\n- [Bern](city), please",
        about=("sentence", "intent"),
    ),
    _check(
        "intent-few-examples",
        "warning",
        "An intent has few examples, and a similar intent has many",
        "Its sentences share most of their words with those of a much larger intent, which will win. Write more"
        " examples.",
        "- intent: order          # 60 examples\n- intent: cancel_order   # 3 examples, of the same words",
        "- intent: order          # 60 examples\n- intent: cancel_order   # 15 examples, varied",
        needs=("nlu",),
        about=("intent",),
    ),
    _check(
        "class-imbalance",
        "warning",
        "The largest intents dwarf the smallest",
        "A classifier learns to prefer what is frequent. Write examples for the small intents, or thin out the large ones.",
        "- intent: faq      # 400 examples\n- intent: goodbye  # 2 examples",
        "- intent: faq      # 60 examples\n- intent: goodbye  # 12 examples",
        needs=("nlu",),
        about=("section",),
    ),
    _check(
        "value-not-annotated",
        "warning",
        "A value that is annotated elsewhere is not annotated here",
        "The extractor learns from this sentence that it is not an entity. Annotate it, or annotate it nowhere. Not"
        " reported are words that are far more often plain than annotated, and intents with ten or more examples none"
        " of which has the entity: there the word means something else.",
        "- a [large](size) pizza\n- make it large",
        "- a [large](size) pizza\n- make it [large](size)",
        about=("value", "place"),
    ),
    _check(
        "value-in-several-entities",
        "warning",
        "The same words are annotated as different entities",
        "Only the context can distinguish them. Use one entity with roles, or write examples that show the difference.",
        "- from [Rome](departure)\n- [Rome](destination)",
        '- from [Rome]{"entity": "city", "role": "departure"}',
        about=("value", "entity"),
    ),
    _check(
        "synonym-unreached",
        "warning",
        "A synonym is never reached",
        "No example annotates its text, and no RegexEntityExtractor finds it by a lookup table or a regex: nothing, or only"
        " what an extractor learned from other words, extracts it; or the pipeline has no EntitySynonymMapper.",
        "- synonym: large\n  examples: |\n    - humongous",
        "- synonym: large\n  examples: |\n    - humongous\n- intent: order\n  examples: |\n    - a [humongous](size) pizza",
        needs=("nlu", "config"),
        about=("synonym", "section"),
    ),
    _check(
        "synonym-chain",
        "warning",
        "A synonym points at a value that is itself a synonym",
        "Only one step is followed: the result is the intermediate value. Point both at the final value.",
        "- synonym: big\n  examples: |\n    - huge\n- synonym: large\n  examples: |\n    - big",
        "- synonym: large\n  examples: |\n    - huge\n    - big",
        about=("synonym",),
    ),
    _check(
        "lookup-entry-unseen",
        "info",
        "Entries of a lookup table occur in no example",
        "Entries that occur in no example are never seen in training. Use some of the entries in annotated examples.",
        "- lookup: city\n  examples: |\n    - Reykjavik",
        "- lookup: city\n  examples: |\n    - Reykjavik\n- intent: inform\n  examples: |\n    - I live in [Reykjavik](city)",
        needs=("nlu",),
        about=("lookup",),
    ),
    _check(
        "lookup-entry-never-found",
        "warning",
        "Entries of a lookup table begin or end with a sign",
        "Entries are looked up between borders of words (`\\b`), and there is none between a sign and a blank: they have"
        " no effect. Write them without the sign, or set `use_word_boundaries: false`.",
        "- lookup: language\n  examples: |\n    - c++",
        "- regex: language\n  examples: |\n    - c\\+\\+",
        needs=("nlu", "config"),
        about=("lookup",),
    ),
    _check(
        "slot-values-missing",
        "warning",
        "A categorical slot has no values",
        "All values count as the same “other” value. List its values.",
        "size:\n  type: categorical",
        "size:\n  type: categorical\n  values: [small, large]",
        about=("slot",),
    ),
    _check(
        "response-empty",
        "warning",
        "A response has no variations",
        "Nothing is said. Write its text.",
        "utter_greet: []",
        'utter_greet:\n- text: "Hello!"',
        about=("response",),
    ),
    _check(
        "response-name-invalid",
        "warning",
        "The name of a response has invalid characters or does not begin with `utter_`",
        "Only `utter_…` names are treated as responses in stories. Use letters, digits, underscores, and a slash in"
        " retrieval responses.",
        'utter good-bye!:\n- text: "Bye!"',
        'utter_good_night:\n- text: "Bye!"',
        about=("response",),
    ),
)

DIALOGUE = (
    _check(
        "rule-contradiction",
        "error",
        "A rule contradicts a story or another rule",
        "Rasa refuses to train (RulePolicy). Change the story so that it does what the rule says, or give the rule a"
        " condition.",
        "rules:\n- rule: greet\n  steps:\n  - intent: greet\n  - action: utter_greet\nstories:\n- story: hello\n  steps:\n"
        "  - intent: greet\n  - action: utter_menu",
        "rules:\n- rule: greet\n  steps:\n  - intent: greet\n  - action: utter_greet\nstories:\n- story: hello\n  steps:\n"
        "  - intent: greet\n  - action: utter_greet",
        details="Beside its base, a contradiction that a changed rule or story brings is at that change. Changed rules and"
        " stories that contradict only each other are named together: none of them alone is to blame.",
        matters_always=True,
        needs=("domain", "stories"),
        about=("story",),
    ),
    _check(
        "fallback-action-undefined",
        "error",
        "The fallback action of RulePolicy is not in the domain",
        "Rasa refuses to train. List it below `actions`, or correct `core_fallback_action_name`.",
        "- name: RulePolicy\n  core_fallback_action_name: action_sory",
        "- name: RulePolicy\n  core_fallback_action_name: action_default_fallback",
        matters_always=True,
        needs=("domain",),
        about=("action",),
    ),
    _check(
        "story-ways-too-many",
        "warning",
        "Stories make more dialogues than can be followed here",
        "Each `or` and each checkpoint multiplies the ways through a story: eleven `or` steps of three intents make 177,147,"
        " and at most 60,000 (with 1,500,000 events on all) are followed here. Stories are not judged then. Rasa follows all,"
        " if time and memory suffice. Split the story.",
        "- story: survey\n  steps:   # eleven times:\n  - or: [{intent: yes}, {intent: no}, {intent: perhaps}]\n"
        "  - action: utter_next",
        "- story: first question\n  steps:\n  - or: [{intent: yes}, {intent: no}, {intent: perhaps}]\n"
        "  - action: utter_next",
        matters_always=True,
        needs=("domain",),
        about=("section",),
    ),
    _check(
        "checkpoint-joins-many",
        "warning",
        "More than a thousand dialogues go on from a checkpoint",
        "Each dialogue that ends with a checkpoint is joined with each story that starts with it, so that `or` steps and"
        " checkpoints multiply. Training and its checks take time and memory for each. Write a story of its own, without"
        " the checkpoint, or a rule.",
        "- story: survey\n  steps:\n  - or: [{intent: yes}, {intent: no}]\n"
        "  - action: utter_next   # and nine more such questions\n  - checkpoint: asked\n"
        "- story: thanks\n  steps:\n  - checkpoint: asked\n  - intent: thank\n  - action: utter_welcome",
        "- story: thanks\n  steps:\n  - intent: thank\n  - action: utter_welcome",
        matters_always=True,
        about=("section",),
    ),
    _check(
        "story-name-duplicate",
        "warning",
        "Two stories or rules have the same name",
        "Reports and conflicts refer to them by name. Rename one.",
        "- story: happy path\n  steps: [{intent: greet}, {action: utter_greet}]\n- story: happy path\n"
        "  steps: [{intent: goodbye}, {action: utter_goodbye}]",
        "- story: happy path\n  steps: [{intent: greet}, {action: utter_greet}]\n- story: a short goodbye\n"
        "  steps: [{intent: goodbye}, {action: utter_goodbye}]",
        needs=("domain",),
        about=("story",),
    ),
    _check(
        "story-duplicate",
        "warning",
        "Two stories or rules have the same steps",
        "The second teaches nothing. Remove one.",
        "- story: a\n  steps: [{intent: greet}, {action: utter_greet}]\n- story: b\n"
        "  steps: [{intent: greet}, {action: utter_greet}]",
        "- story: a\n  steps: [{intent: greet}, {action: utter_greet}]",
        needs=("domain",),
        about=("story",),
    ),
    _check(
        "story-unreachable",
        "warning",
        "A story can never begin",
        "It starts with a checkpoint that only unreachable stories end with, or that requires a slot value which no"
        " dialogue has there. Correct the checkpoint's name, or the value.",
        "- story: b\n  steps:\n  - checkpoint: after_b\n  - intent: thank\n  - checkpoint: after_b",
        "- story: b\n  steps:\n  - checkpoint: after_a\n  - intent: thank",
        needs=("domain", "stories"),
        about=("story",),
    ),
)

TESTS = (
    _check(
        "test-story-in-training",
        "warning",
        "A test story is a copy of a training story",
        "It passes from memory and proves nothing. Vary it.",
        "# data/stories.yml\n- story: greet\n  steps: [{intent: greet}, {action: utter_greet}]\n"
        "# tests/test_stories.yml\n- story: greet in a test\n  steps: [{intent: greet}, {action: utter_greet}]",
        "# data/stories.yml\n- story: greet\n  steps: [{intent: greet}, {action: utter_greet}]\n"
        "# tests/test_stories.yml\n- story: greet and part\n  steps: [{intent: greet}, {action: utter_greet},"
        " {intent: goodbye}, {action: utter_goodbye}]",
        about=("test",),
    ),
    _check(
        "test-sentence-in-training",
        "warning",
        "A test sentence is also a training sentence",
        "Understanding it proves nothing. Word it differently; different case, punctuation or accents are not enough."
        " One-word answers in test stories and end-to-end cases are not reported, since there is no other way to say"
        " them.",
        "- user: good morning to you   # also an example of greet",
        "- user: a very good morning",
        about=("sentence",),
    ),
    _check(
        "test-entity-not-extractable",
        "warning",
        "A test expects an entity that nothing in the pipeline can extract",
        "The test can only fail. Add an extractor for it, or annotated examples. `RegexEntityExtractor` looks only"
        " for entities that are annotated in some example and have a regex or a lookup table.",
        "- user: on [Monday](time)   # and no DucklingEntityExtractor in the pipeline",
        "pipeline:\n- name: DucklingEntityExtractor\n  dimensions: [time]",
        needs=("nlu", "config"),
        about=("entity",),
    ),
    _check(
        "test-action-undefined",
        "error",
        "A test expects a response or action that nothing defines",
        "The test can never pass. Correct the name, or define it; if it was renamed, rename it here, too.",
        "# tests/test_stories.yml\n- story: ask when it is open\n  steps: [{intent: hours}, {action: utter_hours}]",
        "# tests/test_stories.yml\n- story: ask when it is open\n  steps: [{intent: hours},"
        " {action: utter_opening_hours}]",
        matters_always=True,
        needs=("domain", "nlu", "responses"),
        about=("action", "response"),
    ),
    _check(
        "test-intent-undefined",
        "error",
        "A test expects a sentence to be understood as an intent that does not exist",
        "The test can never pass. Correct the name; if the intent was renamed, rename it here, too.",
        "# tests/test_stories.yml\n- user: when are you open\n  intent: hours",
        "# tests/test_stories.yml\n- user: when are you open\n  intent: opening_hours",
        matters_always=True,
        needs=("domain", "nlu"),
        about=("intent",),
    ),
    _check(
        "test-name-undefined",
        "warning",
        "A test story names an intent, form or slot that nothing defines",
        "The name has no effect on what the assistant does. Correct it.",
        "# tests/test_stories.yml\n- slot_was_set:\n  - sise: large",
        "# tests/test_stories.yml\n- slot_was_set:\n  - size: large",
        matters_always=True,
        needs=("domain", "nlu"),
        about=("intent", "form", "slot"),
    ),
)

TRAINING_CHECKS = (*EXAMPLES, *DIALOGUE, *TESTS)
