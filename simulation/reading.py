"""What an English text says, true or not: the clauses of an agent's reply with the facts and questions in each.

Owns the patterns. Reads replies about hotels and restaurants, from a template's lower-case sentences to a language
model's paragraphs and lists; never looks at evidence, so it says what was claimed and leaves to `understanding`
whether it holds. About a millisecond a reply.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from simulation.lexicon import DAYS, NUMBERS, TOKEN, VALUE_WORDS, Catalogue, Entity, respell
from tools.results import Domain

_NUMBER = r"(?:\d+|" + "|".join(NUMBERS) + ")"

_QUESTION_START = re.compile(
    r"^(?:and |so |also |okay |ok |great |sure |, )*(?:what|which|how (?:many|long|about)|when|where|who|do you|did you|"
    r"would you|will you|are you|is there|should i|shall i|may i|can i|could i|want me|any (?:preference|particular))\b"
)
_TAG_QUESTION = re.compile(
    r" ?, (?=(?:would|could|can i|can we|can you|do you|did you|shall i|should i|is there|are there|may i|how about|what about|does)\b)"
)
"""Where a question is tacked on to a statement: "none of them is free, would you like another day?"."""
_IMPERATIVE = re.compile(
    r"\b(?:please (?:\w+ )?(?:tell|let|give|provide|specify|confirm|choose|pick|try|say|share)|let me know|tell me|"
    r"i (?:just |will |'ll |also |would |still )*need(?: to know)?|i (?:will|'ll|would|'d) (?:also )?(?:need|like) to know|"
    r"could you (?:please )?(?:tell|give|provide|specify|confirm)|can you (?:please )?(?:tell|give|provide|specify)|"
    r"try (?:another|a different)|missing)\b"
)

_ROOM_FREE = r"(?:rooms?|tables?|seats?|vacanc(?:y|ies)|openings?|availability|reservations?|bookings?)"
_OTHER_PLACE = (
    r"(?:hotel|guesthouse|restaurant|place|option|result|match|venue|listing|accommodation|lodging|room|one|thing)"
)
_NO_OFFER = re.compile(
    r"\bthere (?:is|are|'s|'re|was|were|seems? to be|appears? to be) (?:\w+ )?(?:no|none|nothing|not (?:any|a|one)|0|zero)\b"
    r"(?! (?:\w+ ){0,2}(?:problem|parking|internet|wifi|need|" + _ROOM_FREE + r"))"
    r"|\bthere (?:isnt|arent|wasnt|werent|doesnt \w+ to be)\b(?! (?:\w+ ){0,2}" + _ROOM_FREE + r")"
    r"|\bno (?!problem|parking|internet|wifi)(?!(?:\w+ ){0,2}"
    + _ROOM_FREE
    + r"\b)(?:[\w<>]+ ){0,7}?"
    + _OTHER_PLACE
    + r"(?:e?s)?\b"
    r"|\b(?:i|we|search) (?:\w+ |'\w+ ){0,3}(?:not|nt|dont|didnt|doesnt|couldnt|cant|unable|wasnt|havent|isnt|arent|no)\b"
    r" ?(?:able )?(?:to )?(?:\w+ )?(?:find|finding|found|locate|located|see|seeing|have|having|show|showing|bring|return|returning|list)\b"
    r"(?! (?:the |a |your |their |its |that |any |this )?(?:map|phone|address|postcode|reference|information|details|time|day|booking))"
    r"|\b(?:nothing|none) (?:\w+ ){0,3}(?:match|found|in|with|that|like|for|of|fit|meet)(?! (?:that|this) (?:time|day|date))"
    r"|\b(?:i|we) have nothing\b"
    r"|\b(?:is|are|was|were|afraid|sorry) (?:there (?:is|are) )?none\b|^,? ?none found\b|\bno luck\b|\bno (?:results?|matche?s?)\b"
    r"|\b(?:unable|not able) to (?:find|locate)\b|\bnt (?:find|locate)\b|\b(?:0|zero) (?:hotel|guesthouse|restaurant|result|match|option)"
)
_CANNOT = r"(?:unable|not able|cant|couldnt|could not|wasnt able|didnt|not|failed|trouble)"
_NO_BOOK = re.compile(
    r"\b" + _CANNOT + r" (?:to )?(?:\w+ ){0,3}(?:book|booking|reserve|reservation|accommodate)\b"
    r"|\b(?:booking|reservation|it|that) (?:\w+ ){0,2}(?:unsuccessful|not successful|failed|not possible|refused|not go through|didnt go through|wasnt successful)\b"
    r"|\bunsuccessful\b|\b(?:nt|not|un|longer) ?available\b|\b\w+nt available\b|\bunavailable\b|\b(?:no|without|any|not enough) (?:\w+ ){0,2}"
    + _ROOM_FREE
    + r"\b(?! (?:at the|in the hotel))"
    r"|\b(?:they|both|place|hotel|restaurant|guesthouse|time|day) (?:is |are |was |were |'s |'re )(?:both |all |already |fully )?booked\b(?! (?:for|at|in|into|on|under|you))|\bnothing available\b"
    r"|\b(?:fully booked|booked up|booked out|already full|is full|are full)\b|\b(?:nt|not|\w+nt) work(?:ing)?\b"
    r"|\b(?:dont|doesnt|not) have (?:a |any |\w+ )?"
    + _ROOM_FREE
    + r"\b|\bnt able to accommodate\b|\bneither (?:\S+ ){1,4}(?:is|are) available\b"
)
_BOOKED = re.compile(
    r"\b(?:booked|reserved)\b|\b(?:booking|reservation) (?:\w+ |<\w+> ){0,4}?(?:successful|made|complete|completed|confirmed|done|set|placed)\b"
    r"|\bsuccessfully\b|\b(?:made|completed|confirmed|placed|got) (?:\w+ ){0,2}(?:booking|reservation)\b|\breference (?:\w+ ){0,2}(?:is|:|are)|\ball set\b|\bconfirmation (?:number|code)\b"
    r"|\bref(?:erence)?(?: number| code)? ?(?::|is)"
)
_NOT_YET = re.compile(
    r"\b(?:would|could|can|will|shall|should|want|like|may|might|before|once|after|if|ready|be|already|not|nt|already)\b"
)
_OFFER_BOOK = re.compile(r"\b(?:book|booking|reserve|reservation|reserving)\b")
_MORE = re.compile(
    r"\b(?:anything|something|what) else\b|\belse (?:i|you|we|today|for)\b|\bmore (?:information|info|details|help)\b|"
    r"\bhelp (?:you )?with\b|\bassist (?:you )?(?:with|further|you)\b|\bother (?:questions|help|assistance)\b"
)
_BYE = re.compile(
    r"\b(?:good ?)?bye\b|\bhave a (?:\w+ )?(?:great|nice|good|wonderful|lovely|pleasant|fantastic|safe|fun|blessed)\b|"
    r"\benjoy (?:your|the|cambridge)\b|\bthank(?:s| you)(?: so much| very much)? for (?:using|contacting|calling|choosing|your)\b|"
    r"\bglad (?:i|to|we) (?:\w+ )?(?:help|be of)"
)
_WELCOME = re.compile(
    r"\b(?:you 're|you are|your|very|more than) (?:very |so |quite |more than )?welcome\b|\bmy pleasure\b|^welcome\b"
)
_GREET = re.compile(r"^(?:hello|hi|good (?:morning|afternoon|evening))\b")

_PREFER = re.compile(
    r"\b(?:what|which|where|prefer\w*|preference|in mind|specific|particular|looking for|any|narrow|different|another|"
    r"do you (?:need|want|have|care)|would you like|how many|tell|know|provide|specify|change|need|or)\b"
)
_REQUESTS: tuple[tuple[str, Domain | None, re.Pattern[str]], ...] = (
    ("day", None, re.compile(r"(?<!many )(?<!great )(?<!nice )\b(?:days?|dates?|when)\b(?! of nights)")),
    (
        "people",
        None,
        re.compile(
            r"\bhow many (?:people|guests|persons|of you|in|will|are|would|diners|seats)\b|\b(?:people|guests|persons|diners)\b|\b(?:party|group)\b|\bhow many ?$|\bhow many\b(?! (?:\w+ )?(?:nights|days|stars))"
        ),
    ),
    (
        "stay",
        "hotel",
        re.compile(
            r"\b(?:how many|of|the) (?:nights|days)\b|\bhow long\b|\blength\b|\bnights\b|\bduration\b|\b(?:shorter|longer|shorten|or|another|different) (?:\w+ )?stay\b"
        ),
    ),
    (
        "time",
        "restaurant",
        re.compile(r"(?<!this )(?<!next )(?<!your )\btimes?\b|\bwhen\b|\byour (?:preferred )?time\b"),
    ),
    ("area", None, re.compile(r"\b(?:areas?|part(?:s)? of|locations?|side of|where|located)\b")),
    ("pricerange", None, re.compile(r"\b(?:price|prices|priced|budget|pricing|cost)\b")),
    ("food", "restaurant", re.compile(r"\b(?:food|foods|cuisines?|(?:type|kind) of restaurant)\b")),
    (
        "type",
        "hotel",
        re.compile(
            r"\b(?:type|types|kind) of (?:hotel|accommodation|accommodations|place|lodging|lodgings|room)\b|\bguesthouse or (?:a )?hotel\b|\bhotels? or (?:a )?guesthouse\b|\bhotel type\b"
        ),
    ),
    ("stars", "hotel", re.compile(r"\bstars?\b|\brating\b")),
    ("internet", "hotel", re.compile(r"\b(?:internet|wifi)\b")),
    ("parking", "hotel", re.compile(r"\bparking\b")),
    ("name", None, re.compile(r"\bnames?\b|\bwhich (?:one|hotel|restaurant|guesthouse|place|of)\b")),
)
_BOOK_SLOTS = ("day", "people", "stay", "time")
_GIVEN = {
    "day": re.compile(r"\b(?:" + "|".join(DAYS) + r")\b"),
    "people": re.compile(r"\b" + _NUMBER + r" (?:people|guests|persons|diners)\b|\b(?:party|group) of\b"),
    "stay": re.compile(r"\b" + _NUMBER + r" (?:nights?|days?)\b"),
    "time": re.compile(r"<time>"),
}

_HOTEL_WORDS = re.compile(
    r"\b(?:hotels?|guesthouse|rooms?|stay|staying|nights?|stars?|parking|internet|wifi|lodging|accommodations?|check in)\b"
)
_RESTAURANT_WORDS = re.compile(r"\b(?:restaurants?|tables?|foods?|serves?|serving|cuisines?|eat|dine|dining|eatery)\b")

_COUNT = re.compile(
    r"\b(?P<n>"
    + _NUMBER
    + r"|several|many|multiple|a few|a couple|both|lots|plenty|a number|some|various|other)\b(?! (?:stars?|people|guests|nights?|days?|pm|am|pounds?)\b)"
    r"(?: (?:of|different|total|such|more|other|great|options|possible|matching|available))*"
    r" (?:[\w<>]+ ){0,4}?(?:hotels?|guesthouse|restaurants?|options?|places?|choices?|results?|matche?s?|venues?|listings?|of (?:them|those)|that|which|found|available|to choose|ones|in|lodgings?)\b"
    r"|\b(?:there (?:are|is|'s)|i (?:have|found|see|'ve|'ve found|have found|show)|we have) (?:\w+ )?(?P<m>"
    + _NUMBER
    + r"|several|many)\b(?! (?:stars?|people|guests|nights?|days?))"
    r"|\b(?P<o>one|1) (?:hotel|guesthouse|restaurant|option|place|result|match)\b"
)
_STARS = re.compile(
    r"\b(?P<n>"
    + _NUMBER
    + r") stars?\b|\bstars?(?: rating)?(?: (?:of|at|for)(?: the)? <name>)?(?: is| are| of| :|s)* (?P<m>"
    + _NUMBER
    + r")\b|\brat(?:ed|ing)(?: is| of| at| as| a| :)* (?P<o>"
    + _NUMBER
    + r")\b"
)
_HOTEL_TYPE = re.compile(
    r"\b(?:is|as|'s) an? (?:[\w<>]+ ){0,4}?hotel\b(?! (?:restaurant|bar))|\btype(?: (?:of|at|for)(?: the)? <name>)?(?: is| :| of)*(?: an?)? hotel\b|\bhotel type\b(?! is)|\bstars? hotels?\b"
)
_HOTEL_TYPE_STRICT = re.compile(
    r"\btype(?: (?:of|at|for)(?: the)? <name>)?(?: is| :)+(?: an?)? hotel\b|\bit is an? hotel\b"
)
_HEDGED = re.compile(
    r"\b(?:if|near|nearby|close to|from|outside|other|another|different|instead of|unlike|than|rather|not|nt|\w+nt|no|none|nothing|"
    r"both|all|each|others|either|some|you (?:asked|wanted|want|requested|prefer|would)|would you|could|such|for you|search\w*|look\w*)\b"
)
_PRONOUN = re.compile(
    r"^(?:and |also |yes |no |great |ok |okay |sure |, )*(?:it|its|they|their|this|that|he|she|located|"
    r"the (?:hotel|guesthouse|restaurant|place|venue|area|price|pricerange|food|cuisine|stars?|rating|type|address|phone|postcode|parking|internet|wifi))\b"
)

_AMENITY = {"internet": "internet", "wifi": "internet", "wireless": "internet", "parking": "parking"}
_AMENITY_NO = frozenset("no not nt dont doesnt without lacks lack isnt arent lacking neither nor cant".split())
_AMENITY_YES = frozenset(
    "has have offers offer includes include included including provides provide free with features feature complimentary "
    "available both also comes".split()
)
_FILLER = frozenset(
    ": is are - available availability service access on site onsite wifi free paid at for of the <name>".split()
)
_UNKNOWN_PLACE = re.compile(
    r"\b(?:how about|recommend|suggest|called|named|(?:book(?:ed)?|reserved?) (?:you )?(?:at|into|in))(?: the)? ((?:[a-z]+ ?){1,6})"
)
_ADDRESS_LIKE = re.compile(
    r"\b\d{1,3}[a-z]? (?:[a-z]+ ){1,2}(?:road|street|lane|avenue|terrace|drive|square|hill|close|court)\b"
)


@dataclass(slots=True)
class Clause:
    """A piece of a sentence that says one thing, positive or negative, about the same venues."""

    words: list[str]
    """Respelt; a phrase of the database stands as ``<name>``, ``<address>``, ``<phone>``, ``<postcode>``, ``<food>``."""
    entities: list[Entity]
    times: list[str]
    sentence: int
    question: bool = False
    request: bool = False
    no_offer: bool = False
    no_book: bool = False
    booked: bool = False
    text: str = ""
    values: list[tuple[str, str]] = field(default_factory=list)
    """Slot and value of the words that describe venues: area, pricerange, type, stars, food, internet, parking."""
    details: list[tuple[str, str]] = field(default_factory=list)
    """Booking details that were said: day, people, stay, time."""
    requests: list[str] = field(default_factory=list)
    domain: Domain | None = None
    count: str | None = None
    offers_booking: bool = False

    @property
    def names(self) -> list[Entity]:
        return [entity for entity in self.entities if entity.kind == "name"]

    @property
    def plainly_a_hotel(self) -> bool:
        """Whether "hotel" is said of the type: people call a guesthouse "a 4 star hotel" and mean no harm."""
        return bool(_HOTEL_TYPE_STRICT.search(self.text))

    @property
    def descriptive(self) -> bool:
        """Whether its values describe venues: not a bare question, not "there is no ...", not "not available"."""
        return not (self.no_offer or (self.question and not self.names))

    @property
    def assertive(self) -> bool:
        """Whether a wrong value in it is a false statement: plain words about a venue named or meant."""
        if self.no_offer or self.no_book or self.question or self.request or _HEDGED.search(self.text):
            return False
        return bool(self.names or _PRONOUN.search(self.text))


@dataclass(slots=True)
class Reading:
    """A reply as read."""

    clauses: list[Clause]
    general: list[str]
    """``reqmore``, ``bye``, ``welcome``, ``greet``."""
    unknown_places: list[str]
    invented_addresses: list[str]


def read(text: str, catalogue: Catalogue) -> Reading:
    """Read one reply."""
    clauses: list[Clause] = []
    general: list[str] = []
    unknown: list[str] = []
    invented: list[str] = []
    for number, (pieces, end) in enumerate(_sentences(text, catalogue)):
        sentence = " ".join(word for piece in pieces for word in piece.words)
        question = "?" in end or bool(_QUESTION_START.search(sentence))
        general += _general(sentence, question)
        for clause in pieces:
            clause.sentence = number
            _analyse(clause, question)
            clauses.append(clause)
        unknown += _unknown_places(sentence, [name for piece in pieces for name in piece.names])
        invented += _ADDRESS_LIKE.findall(sentence) and [match.group() for match in _ADDRESS_LIKE.finditer(sentence)]
    _spread_domains(clauses)
    return Reading(clauses, list(dict.fromkeys(general)), unknown, invented)


def _sentences(text: str, catalogue: Catalogue) -> Iterator[tuple[list[Clause], str]]:
    """The sentences, each as its clauses (parted at "but", "however") and the marks that end it."""
    words: list[str] = []
    kinds: list[str] = []
    for match in TOKEN.finditer(_TAG_QUESTION.sub(" . ", respell(text))):
        words.append(match.group())
        kinds.append(str(match.lastgroup))
    clause = Clause([], [], [], 0)
    clauses = [clause]
    position = 0
    while position < len(words):
        word, kind = words[position], kinds[position]
        if kind == "stop":
            if any(piece.words for piece in clauses):
                yield [piece for piece in clauses if piece.words], word
            clause = Clause([], [], [], 0)
            clauses = [clause]
        elif kind in ("phone", "postcode"):
            value = re.sub(r"[ -]", "", word)
            owners = (catalogue.phones if kind == "phone" else catalogue.postcodes).get(value, ())
            clause.entities.append(Entity("phone" if kind == "phone" else "postcode", value, owners))
            clause.words.append(f"<{kind}>")
        elif kind == "time":
            clause.times.append(word.zfill(5))
            clause.words.append("<time>")
        elif kind == "word" and (found := catalogue.match(words, position)):
            clause.entities.append(found[0])
            clause.words.append(f"<{found[0].kind}>")
            position += found[1] - 1
        elif word in ("but", "however", "though", "instead", "although") and clause.words:
            clause = Clause([], [], [], 0)
            clauses.append(clause)
        elif word not in "()|/":
            clause.words.append(word)
        position += 1
    if any(piece.words for piece in clauses):
        yield [piece for piece in clauses if piece.words], ""


def _general(sentence: str, question: bool) -> Iterator[str]:
    if _MORE.search(sentence) and (question or "let me know" in sentence or "if " in sentence):
        yield "reqmore"
    if _BYE.search(sentence):
        yield "bye"
    if _WELCOME.search(sentence):
        yield "welcome"
    if _GREET.search(sentence):
        yield "greet"


def _analyse(clause: Clause, question: bool) -> None:
    text = clause.text = " ".join(clause.words)
    clause.question = question
    clause.request = question or bool(_IMPERATIVE.search(text))
    closing = bool(_BYE.search(text))
    if not question:
        clause.no_offer = bool(_NO_OFFER.search(text)) and not _NO_BOOK.search(text)
        clause.no_book = bool(_NO_BOOK.search(text))
        clause.booked = bool(_BOOKED.search(text)) and not clause.no_book and not _NOT_YET.search(text)
        if "reference" in text and not clause.no_book and re.search(r"reference (?:\w+ )?(?:is|:)", text):
            clause.booked = True
    clause.offers_booking = (
        question and bool(_OFFER_BOOK.search(text)) and not re.match(r"(?:and )?(?:what|which|how)", text)
    )
    clause.domain = _domain(clause)
    clause.values = list(_values(clause))
    if not closing:
        clause.details = list(_details(clause))
        if clause.request:
            clause.requests = list(_requests(clause))
    if not question and not clause.no_offer and (match := _COUNT.search(text)):
        clause.count = match["n"] or match["m"] or match["o"]


def _domain(clause: Clause) -> Domain | None:
    named = {domain for name in clause.names for domain, _ in name.venues}
    if len(named) == 1:
        return named.pop()
    hotel, restaurant = bool(_HOTEL_WORDS.search(clause.text)), bool(_RESTAURANT_WORDS.search(clause.text))
    if any(entity.kind == "food" for entity in clause.entities):
        restaurant = True
    if hotel == restaurant:
        return None
    return "hotel" if hotel else "restaurant"


def _spread_domains(clauses: list[Clause]) -> None:
    """A clause without a domain of its own goes on about the one before it, or else begins what comes after."""
    last: Domain | None = None
    for clause in clauses:
        last = clause.domain = clause.domain or last
    following: Domain | None = None
    for clause in reversed(clauses):
        following = clause.domain = clause.domain or following


def _values(clause: Clause) -> Iterator[tuple[str, str]]:
    for word in clause.words:
        if word in VALUE_WORDS:
            yield VALUE_WORDS[word]
    for entity in clause.entities:
        if entity.kind == "food":
            yield "food", entity.value
    for match in _STARS.finditer(clause.text):
        number = match["n"] or match["m"] or match["o"]
        yield "stars", NUMBERS.get(number, number)
    if _HOTEL_TYPE.search(clause.text):
        yield "type", "hotel"
    for position, word in enumerate(clause.words):
        if word in _AMENITY:
            yield _AMENITY[word], _amenity(clause.words, position)


def _amenity(words: list[str], position: int) -> str:
    """``yes`` or ``no``: what follows the word decides ("parking : no"), else the nearest sense before it."""
    for word in words[position + 1 : position + 6]:
        if word in ("yes", "no"):
            return word
        if word in _AMENITY_NO or word == "unavailable":
            return "no"
        if word not in _FILLER:
            break
    affirmed = False
    for word in reversed(words[max(0, position - 7) : position]):
        if word in _AMENITY_NO:
            return "no"
        if affirmed and word in ("and", ",", "or", "with"):
            return "yes"
        affirmed = affirmed or word in _AMENITY_YES
    return "yes"


def _details(clause: Clause) -> Iterator[tuple[str, str]]:
    for word in clause.words:
        if word in DAYS:
            yield "day", word
    for time in clause.times:
        yield "time", time
    for first, second in zip(clause.words, clause.words[1:], strict=False):
        number = NUMBERS.get(first, first)
        if number.isdigit():
            if second in ("people", "guests", "persons", "person", "guest", "diners", "adults"):
                yield "people", number
            elif second in ("nights", "night"):
                yield "stay", number


def _requests(clause: Clause) -> Iterator[str]:
    text = clause.text
    if clause.question and _MORE.search(text) and not re.search(r"\b(?:what|which|prefer|range)\b", text):
        return
    prefers = bool(_PREFER.search(text)) and not clause.names
    for slot, domain, pattern in _REQUESTS:
        if domain is not None and clause.domain not in (domain, None):
            continue
        if not pattern.search(text):
            continue
        if slot in _BOOK_SLOTS:
            if not _GIVEN[slot].search(text):
                yield slot
        elif prefers and not (clause.offers_booking and slot not in ("area",)):
            yield slot


_PLAIN = (
    frozenset(
        "a an one another other different any some the something someone something's it that this these those them you your "
        "i we my our changing trying if for in on at by with to from and or of is are as next first second last same later "
        "earlier hotel hotels guesthouse restaurant restaurants place places area town city price range cheaper food dinner "
        "lunch day time date table room rooms people person night nights just only looking search moderate more less giving "
        "booking reservation choosing all both either each there here which what where when whether asking not no yes "
        "advance person stay star stars north south east west centre central cheap expensive moderately system our their its "
        "making having going staying dining eating visiting contacting calling me instead successfully now today tomorrow "
        "b large small nice good great lovely wonderful high highly very really would will can could".split()
    )
    | set(DAYS)
    | set(NUMBERS)
)


def _unknown_places(sentence: str, names: list[Entity]) -> Iterator[str]:
    """Places offered or booked by a name that the database does not know."""
    if names:
        return
    for match in _UNKNOWN_PLACE.finditer(sentence):
        words = match[1].split()
        if words and words[0] not in _PLAIN:
            yield " ".join(words)
