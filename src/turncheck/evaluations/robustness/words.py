"""Words that people use in place of others: contractions, chat abbreviations and polite phrases, for several languages.

The lists hold what means the same in any sentence. A project can add to them, in any language, in ``tests/noise.yml``:

    contractions: {I am: I'm}
    abbreviations: {please: pls}
    prefixes: ["excuse me, "]
    suffixes: [", please"]
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from turncheck.messages.errors import UserError
from turncheck.messages.finding import Location
from turncheck.process.regular_file import read_regular
from turncheck.project.folder import MAX_FILE_BYTES
from turncheck.yaml_tree.source import EscapeError, YamlSource
from turncheck.yaml_tree.tree import YamlMapping, YamlNode, YamlScalar, YamlSequence, parse_yaml

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


# The words that a project adds to those of its language, in ``tests/noise.yml``.

FILE: Final = "tests/noise.yml"
MAPPINGS: Final = ("contractions", "abbreviations")
LISTS: Final = ("prefixes", "suffixes")


def read_word_file(path: Path) -> tuple[dict[str, dict[str, str]], dict[str, tuple[str, ...]]]:
    """Return the mappings and the lists in a word file, by name; empty if the file does not exist.

    Raises:
        UserError: it cannot be read, has an unknown key, or values that are not strings; with the place.
    """
    root = _parsed(path)
    for key in root.items:
        if key not in (*MAPPINGS, *LISTS):
            known = ", ".join(MAPPINGS + LISTS)
            raise UserError(f"unknown key '{key}': expected {known}", location=root.key_location(key))
    mappings = {name: _mapping(name, node) for name in MAPPINGS if (node := root.at(name)) is not None}
    lists = {name: tuple(_list(name, node)) for name in LISTS if (node := root.at(name)) is not None}
    return mappings, lists


def _parsed(path: Path) -> YamlMapping:
    here = Location(FILE)
    try:
        document = parse_yaml(YamlSource(FILE, read_regular(path, most=MAX_FILE_BYTES).decode("utf-8-sig")))
    except OSError as error:
        raise UserError(f"cannot be read: {error.strerror or error}", location=here) from None
    except UnicodeDecodeError:
        raise UserError("is not UTF-8", location=here, hint="Save it in UTF-8.") from None
    except EscapeError as error:
        raise UserError(f"{error}", location=here) from None
    for finding in document.findings:
        raise UserError(finding.message.rstrip("."), location=finding.location, hint=finding.hint or None)
    if not isinstance(document.root, YamlMapping):
        keys = ", ".join(MAPPINGS + LISTS)
        raise UserError(f"expected word lists, the keys {keys}", location=Location(FILE, 1, 1))
    return document.root


def _mapping(name: str, node: YamlNode) -> dict[str, str]:
    if not isinstance(node, YamlMapping):
        raise UserError(f"'{name}': expected a mapping of strings to strings", location=node.location)
    pairs = zip(_strings(name, node.keys.values()), _strings(name, node.items.values()), strict=True)
    return dict(pairs)


def _list(name: str, node: YamlNode) -> list[str]:
    if not isinstance(node, YamlSequence):
        raise UserError(f"'{name}': expected a list of strings", location=node.location)
    return _strings(name, node.items)


def _strings(name: str, nodes: Iterable[YamlNode]) -> list[str]:
    found = []
    for node in nodes:
        if not isinstance(node, YamlScalar) or not isinstance(node.value, str) or not node.value.strip():
            raise UserError(f"'{name}': expected a string", location=node.location, hint="Put it in quotes.")
        found.append(node.value)
    return found


class Words(Struct, frozen=True):
    """The words of a language. Contractions are used in both directions, abbreviations and ``shortened`` in one.

    ``kept``: negations and numbers, which with a typo would change the meaning. ``others``: words that a typo may
    produce by accident.
    """

    contractions: Mapping[str, str] = field(default_factory=dict)
    abbreviations: Mapping[str, str] = field(default_factory=dict)
    prefixes: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    shortened: Mapping[str, str] = field(default_factory=dict)
    kept: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()

    def with_more(self, other: Words) -> Words:
        """Return the words of both; if they differ, ``other`` counts."""
        return Words(
            {**self.contractions, **other.contractions},
            {**self.abbreviations, **other.abbreviations},
            (*self.prefixes, *other.prefixes),
            (*self.suffixes, *other.suffixes),
            self.shortened,
            self.kept,
            self.others,
        )


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LANGUAGES: Final[Mapping[str, Words]] = {
    "en": Words(
        {
            "I am": "I'm", "I will": "I'll", "you are": "you're", "it is": "it's",
            "that is": "that's", "what is": "what's", "where is": "where's", "who is": "who's", "how is": "how's",
            "there is": "there's", "we are": "we're", "they are": "they're", "we will": "we'll", "do not": "don't",
            "does not": "doesn't", "did not": "didn't", "is not": "isn't", "are not": "aren't", "was not": "wasn't",
            "cannot": "can't", "could not": "couldn't", "would not": "wouldn't", "will not": "won't",
            "should not": "shouldn't", "have not": "haven't", "has not": "hasn't",
            "want to": "wanna", "going to": "gonna", "got to": "gotta", "give me": "gimme", "kind of": "kinda",
        },
        {
            "you": "u", "are": "r", "please": "pls", "thanks": "thx", "thank you": "ty", "because": "cuz",
            "tomorrow": "tmrw", "what": "wat", "people": "ppl", "your": "ur", "with": "w/", "without": "w/o",
            "about": "abt", "message": "msg", "know": "kno", "really": "rly", "tonight": "tonite", "okay": "ok",
            "information": "info", "appointment": "appt", "address": "addr", "minutes": "mins", "hours": "hrs",
        },
        ("excuse me, ",), (", please",),
        {"I would": "I'd", "let's": "let us"},
        _words(
            "cannot never nothing nobody nowhere without neither hardly except three seven eight eleven twelve "
            "thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty "
            "seventy eighty ninety hundred thousand million first second third fourth fifth sixth seventh eighth "
            "ninth tenth dozen double"
        ),
        _words(
            "three there their where were here those these quiet quite trail trial angel angle diary dairy desert "
            "dessert bread beard board field filed tired tried unite untie fires fries minuet minute booing "
            "booking hose moth cost sore back pace pane plan fight bead clam clan cash band last best meat pint "
            "pant fond cart sort shot shit sent send sand sill spot star stat tack tuck tied fiend bought though "
            "word wore curse lose loose chose choose heard heart heat hear hurt house horse course coarse later "
            "latter dinner diner bear beer bill ball bell sale sole sate state stare store stone phone prone "
            "price prince prize pride mouth month south sound pound round found count court coat cost cast case "
            "care core cord card cold told hold food foot fool feel fuel full fill file fine find fund line like "
            "lake late rate date data gate game name"
        ),
    ),
    "de": Words(
        {
            "habe ich": "hab ich", "ich habe": "ich hab", "geht es": "geht's", "gibt es": "gibt's", "ist es": "ist's",
            "für das": "fürs", "auf das": "aufs", "wie geht es": "wie geht's", "haben wir": "ham wir",
            "möchte ich": "möcht ich", "ich möchte": "ich möcht",
        },
        {
            "vielleicht": "vllt", "eigentlich": "eig", "danke": "thx", "bitte": "pls", "und": "u",
            "zum beispiel": "zb", "ungefähr": "ca", "gerade": "grad", "wahrscheinlich": "wahrsch", "nachricht": "nachr",
            "straße": "str", "telefonnummer": "telnr", "nummer": "nr",
        },
        ("entschuldigung, ",), (", bitte",),
        {"eine": "ne", "einen": "nen"},
        _words(
            "nicht nichts keine keinen keiner keines keinem niemand niemals weder außer sieben zwölf zwanzig "
            "dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert tausend million erste ersten zweite "
            "zweiten dritte dritten vierte fünfte sechste siebte halbe doppelt"
        ),
        _words(
            "ofen wider wieder mieten mitten beten betten bitten bieten leben lieben reisen riesen wiesen weisen "
            "leider lieder kosten konten karten garten lesen leihen liehen schieben scheiben schreiben wagen "
            "seiten sitten masse kasse klasse gasse rasse messen essen hessen konnte könnte musste müsste wurde "
            "würde hatte hätte"
        ),
    ),
    "es": Words(
        {},
        {
            "que": "q", "por favor": "xfa", "porque": "xq", "por qué": "xq", "también": "tb", "gracias": "grax",
            "mucho": "mxo", "bien": "bn", "mensaje": "msj", "cuando": "cnd", "teléfono": "tlf", "hasta luego": "hl",
        },
        ("disculpe, ",), (", por favor",),
        {"está": "ta", "estoy": "toy", "para el": "pal", "muy": "mu"},
        _words(
            "nunca ningún ninguno ninguna nadie tampoco jamás excepto cuatro cinco siete nueve quince veinte "
            "treinta cuarenta cincuenta sesenta setenta ochenta noventa ciento cientos primero primera segundo "
            "segunda tercero doble medio media"
        ),
        _words(
            "caro carro pero perro cero cerro casa caza pagar pegar mesa masa cuneta trade cobrar comprar mano "
            "mando puerto puesto sobre sobra cuento cuanto cunado cuando saver saber"
        ),
    ),
    "fr": Words(
        {
            "je suis": "j'suis", "tu as": "t'as", "tu es": "t'es", "ce n'est pas": "c'est pas",
            "je ne sais pas": "je sais pas", "je ne veux pas": "je veux pas", "je ne peux pas": "je peux pas",
            "est-ce que": "esk",
        },
        {
            "s'il vous plaît": "svp", "s'il te plaît": "stp", "bonjour": "bjr", "bonsoir": "bsr", "beaucoup": "bcp",
            "quelqu'un": "qqn", "quelque chose": "qqch", "pourquoi": "pk", "salut": "slt", "toujours": "tjs",
            "maintenant": "mtn", "rendez-vous": "rdv", "message": "msg", "avec": "ac", "pour": "pr", "merci": "mrc",
        },
        ("excusez-moi, ",), (", s'il vous plaît",),
        {"il y a": "y a", "cela": "ça"},
        _words(
            "jamais aucun aucune personne trois quatre quinze seize vingt trente quarante cinquante soixante "
            "cents mille premier première deuxième troisième second seconde double demie"
        ),
        _words(
            "poison poisson désert desert dessert livre lire vivre conte comte compte doit droit boire boite "
            "rouge route poser passer penser payer vender vendre mange mangé magné"
        ),
    ),
    "pt": Words(
        {"está": "tá", "estou": "tô", "estava": "tava", "você": "cê"},
        {
            "você": "vc", "vocês": "vcs", "porque": "pq", "por que": "pq", "também": "tb", "obrigado": "obg",
            "obrigada": "obg", "por favor": "pf", "que": "q", "hoje": "hj", "quando": "qdo", "muito": "mt",
            "mensagem": "msg", "beleza": "blz", "com": "c/", "quanto": "qto", "depois": "dps",
        },
        ("com licença, ",), (", por favor",),
        {"para": "pra", "para o": "pro"},
        _words(
            "nunca nenhum nenhuma ninguém jamais exceto quatro cinco quinze vinte trinta quarenta cinquenta "
            "sessenta setenta oitenta noventa cento primeiro primeira segundo segunda terceiro dobro metade"
        ),
        _words("caro carro conta cota compra cobra carta certo perto preto porto ponto pouco trade tarde grade grande"),
    ),
}  # fmt: skip

ROWS: Final[Mapping[str, tuple[str, ...]]] = {
    "": ("qwertyuiop", "asdfghjkl", "zxcvbnm"),
    "de": ("qwertzuiopü", "asdfghjklöä", "yxcvbnm"),
    "fr": ("azertyuiop", "qsdfghjklm", "wxcvbn"),
}
"""The letters on keyboards, row by row; "" is for all other languages."""


def words_for(language: str | None, root: Path | None = None) -> Words:
    """Return the words of a language (``en``, ``pt-BR``), and those that a project's own file adds.

    Raises:
        UserError: that file is not valid.
    """
    words = LANGUAGES.get(base_language(language), Words())
    path = None if root is None else root / FILE
    return words if path is None or not path.is_file() else words.with_more(_read(path))


def base_language(language: str | None) -> str:
    """Return a language without its region."""
    return (language or "").replace("_", "-").partition("-")[0].lower()


def neighbours_of(letter: str, language: str) -> str:
    """Return the neighbours of a letter on the keyboard of a language, "" if the keyboard does not have it."""
    for row in ROWS.get(language, ROWS[""]):
        place = row.find(letter.lower())
        if place >= 0:
            return row[max(0, place - 1) : place] + row[place + 1 : place + 2]
    return ""


def _read(path: Path) -> Words:
    mappings, lists = read_word_file(path)
    return Words(
        mappings.get("contractions", {}), mappings.get("abbreviations", {}),
        lists.get("prefixes", ()), lists.get("suffixes", ()),
    )  # fmt: skip
