r"""The regular expressions that `reading` looks for in a clause.

They run over respelt text (`lexicon.respell`): lower case, ``dont`` for "do n't", phrases of the database masked as
``<name>``, ``<address>``, ``<phone>``, ``<postcode>``, ``<food>``, clock times as ``<time>``. Tried on MultiWOZ's human
replies, ConvLab's system templates, the scripted agent's sentences and the ways language models put things.
"""

import re
from typing import Final

from simulation.lexicon import DAYS, NUMBERS
from tools.results import Domain


def one_of(*alternatives: str) -> re.Pattern[str]:
    """Any of the alternatives."""
    return re.compile("|".join(alternatives))


NUMBER: Final = r"(?:\d+|" + "|".join(NUMBERS) + ")"
_ROOM = r"(?:rooms?|tables?|seats?|vacanc(?:y|ies)|openings?|availability|reservations?|bookings?)"
_PLACE = r"(?:hotel|guesthouse|restaurant|place|option|result|match|venue|listing|accommodation|lodging|room|one|thing)"
_THERE_IS = r"\bthere (?:is|are|'s|'re|was|were|seems? to be|appears? to be)"
_NOT = r"(?:not|nt|dont|didnt|doesnt|couldnt|cant|unable|wasnt|havent|isnt|arent|no)"
_FIND = (
    r"(?:find|finding|found|locate|located|see|seeing|have|having|show|showing|bring|return|returning|list|"
    r"get|getting)"
)
_FACT = r"(?:map|phone|address|postcode|reference|information|details|price|time|day|booking)"
_CANNOT = r"(?:unable|not able|cant|couldnt|could not|wasnt able|didnt|not|failed|trouble)"

# --- what kind of sentence ---

QUESTION_START = re.compile(
    r"^(?:and |so |also |okay |ok |great |sure |, )*"
    r"(?:what|which|how (?:many|long|about)|when|where|who|do you|did you|would you|will you|are you|is there|should i|"
    r"shall i|may i|can i|could i|want me|any (?:preference|particular))\b"
)
TAG_QUESTION = re.compile(
    r" ?, (?=(?:would|could|can i|can we|can you|do you|did you|shall i|should i|is there|are there|may i|how about|"
    r"what about|does)\b)"
)
"""Where a question is tacked on to a statement: "none of them is free, would you like another day?"."""
IMPERATIVE = one_of(
    r"\bplease (?:\w+ )?(?:tell|let|give|provide|specify|confirm|choose|pick|try|say|share)\b",
    r"\b(?:let me know|tell me|missing)\b",
    r"\bi (?:just |will |'ll |also |would |still )*need(?: to know)?\b",
    r"\bi (?:will|'ll|would|'d) (?:also )?(?:need|like) to know\b",
    r"\b(?:could|can) you (?:please )?(?:tell|give|provide|specify|confirm)\b",
    r"\btry (?:another|a different)\b",
)
HEDGED = one_of(
    r"\b(?:if|near|nearby|close to|from|outside|other|another|different|instead of|unlike|than|rather|such|for you)\b",
    r"\b(?:both|all|each|others|either|some|could|would you|search\w*|look\w*)\b",
    r"\byou (?:asked|wanted|want|requested|prefer|would)\b",
)
"""A clause with one of these may mention a value that is not the venue's, and be right."""
NEGATED = re.compile(r"\b(?:not|nt|\w+nt|no|none|nothing)\b")
"""So may one with these, but for internet and parking, where the no is the value."""
PRONOUN = re.compile(
    r"^(?:and |also |yes |no |great |ok |okay |sure |, )*"
    r"(?:it|its|they|their|this|that|he|she|located|parking|internet|wifi|the (?:hotel|guesthouse|"
    r"restaurant|place|venue|area|price|pricerange|food|cuisine|stars?|rating|type|address|phone|postcode|parking|internet|wifi))\b"
)

# --- searches and bookings ---

NO_OFFER = one_of(
    _THERE_IS + r" (?:\w+ )?(?:no|none|nothing|not (?:any|a|one)|0|zero)\b"
    r"(?! (?:\w+ ){0,2}(?:problem|parking|internet|wifi|need|" + _ROOM + r"))",
    r"\bthere (?:isnt|arent|wasnt|werent|doesnt \w+ to be)\b(?! (?:\w+ ){0,2}" + _ROOM + r")",
    r"\bno (?!problem|parking|internet|wifi)(?!(?:\w+ ){0,2}"
    + _ROOM
    + r"\b)(?:[\w<>]+ ){0,7}?"
    + _PLACE
    + r"(?:e?s)?\b",
    r"\b(?:i|we|search) (?:\w+ |'\w+ ){0,3}" + _NOT + r"\b ?(?:able )?(?:to )?(?:\w+ )?" + _FIND + r"\b"
    r"(?! (?:the |a |your |their |its |that |any |this )?" + _FACT + r")",
    r"\b(?:nothing|none) (?:\w+ ){0,3}(?:match|found|in|with|that|like|for|of|fit|meet)"
    r"(?! (?:that|this) (?:time|day|date))",
    r"\b(?:i|we) have nothing\b",
    r"\b(?:is|are|was|were|afraid|sorry) (?:there (?:is|are) )?none\b",
    r"^,? ?none found\b",
    r"\bno (?:luck|results?|matche?s?)\b",
    r"\b(?:unable|not able) to (?:find|locate)\b",
    r"\bnt (?:find|locate)\b",
    r"\b(?:0|zero) (?:hotel|guesthouse|restaurant|result|match|option)",
)
NO_BOOK = one_of(
    r"\b" + _CANNOT + r" (?:to )?(?:\w+ ){0,3}(?:book|booking|reserve|reservation|accommodate)\b",
    r"\bnt able to accommodate\b",
    r"\b(?:booking|reservation|it|that) (?:\w+ ){0,2}"
    r"(?:unsuccessful|not successful|wasnt successful|failed|not possible|refused|not go through|didnt go through)\b",
    r"\b(?:unsuccessful|unavailable|nothing available)\b",
    r"\b(?:nt|not|un|longer) ?available\b",
    r"\b\w+nt available\b",
    r"\bneither (?:\S+ ){1,4}(?:is|are) available\b",
    r"\b(?:no|without|any|not enough) (?:\w+ ){0,2}" + _ROOM + r"\b(?! (?:at the|in the hotel))",
    r"\b(?:dont|doesnt|not) have (?:a |any |\w+ )?" + _ROOM + r"\b",
    r"\b(?:they|both|place|hotel|restaurant|guesthouse|time|day) (?:is |are |was |were |'s |'re )"
    r"(?:both |all |already |fully )?booked\b(?! (?:for|at|in|into|on|under|you))",
    r"\b(?:fully booked|booked up|booked out|already full|is full|are full)\b",
    r"\b(?:nt|not|\w+nt) work(?:ing)?\b",
)
BOOKING_WORDS = re.compile(r"\b(?:book\w*|reserv\w*|accommodate|" + _ROOM + r")\b")
BOOKED = one_of(
    r"\b(?:booked|reserved)\b",
    r"\b(?:booking|reservation) (?:\w+ |<\w+> ){0,4}?(?:successful|made|completed?|confirmed|done|set|placed)\b",
    r"\b(?:made|completed|confirmed|placed|got) (?:\w+ ){0,2}(?:booking|reservation)\b",
    r"\bsuccessfully (?:\w+ ){0,2}(?:book\w*|reserv\w*)\b",
)
REFERENCE_GIVEN = one_of(
    r"\breference (?:\w+ ){0,2}(?:is|:|are)",
    r"\bref(?:erence)?(?: number| code)? ?(?::|is)",
    r"\bconfirmation (?:number|code)\b",
)
NOT_YET = re.compile(
    r"\b(?:would|could|can|will|shall|should|want|like|may|might|let|going|need|needs|get|before|once|after|when|if|ready|"
    r"be|already|not|nt|havent|hasnt|isnt|'ll|'d)\b"
)
"""With one of these, "booked" is no claim that a booking was made."""
OFFER_TO_BOOK = re.compile(r"\b(?:book|booking|reserve|reservation|reserving)\b")
QUESTION_WORD = re.compile(r"(?:and )?(?:what|which|how)")
COUNT = one_of(
    r"\b(?P<n>" + NUMBER + r"|several|many|multiple|a few|a couple|both|lots|plenty|a number|some|various|other)\b"
    r"(?! (?:stars?|people|guests|nights?|days?|pm|am|pounds?)\b)"
    r"(?: (?:of|different|total|such|more|other|great|options|possible|matching|available))* (?:[\w<>]+ ){0,4}?"
    r"(?:hotels?|guesthouse|restaurants?|options?|places?|choices?|results?|matche?s?|venues?|listings?|"
    r"of (?:them|those)|that|which|found|available|to choose|ones|in|lodgings?)\b",
    r"\b(?:there (?:are|is|'s)|i (?:have|found|see|'ve|'ve found|have found|show)|we have) (?:\w+ )?"
    r"(?P<m>" + NUMBER + r"|several|many)\b(?! (?:stars?|people|guests|nights?|days?))",
    r"\b(?P<o>one|1) (?:hotel|guesthouse|restaurant|option|place|result|match)\b",
)

# --- courtesies ---

MORE = one_of(
    r"\b(?:anything|something|what) else\b",
    r"\belse (?:i|you|we|today|for)\b",
    r"\bmore (?:information|info|details|help)\b",
    r"\bhelp (?:you )?with\b",
    r"\bassist (?:you )?(?:with|further|you)\b",
    r"\bother (?:questions|help|assistance)\b",
)
BYE = one_of(
    r"\b(?:good ?)?bye\b",
    r"\bhave a (?:\w+ )?(?:great|nice|good|wonderful|lovely|pleasant|fantastic|safe|fun|blessed)\b",
    r"\benjoy (?:your|the|cambridge)\b",
    r"\bthank(?:s| you)(?: so much| very much)? for (?:using|contacting|calling|choosing|your)\b",
    r"\bglad (?:i|to|we) (?:\w+ )?(?:help|be of)",
)
WELCOME = one_of(
    r"\b(?:you 're|you are|your|very|more than) (?:very |so |quite |more than )?welcome\b",
    r"\bmy pleasure\b",
    r"^welcome\b",
)
GREET = re.compile(r"^(?:hello|hi|good (?:morning|afternoon|evening))\b")

# --- questions about slots ---

PREFERENCE = one_of(
    r"\b(?:what|which|where|prefer\w*|preference|in mind|specific|particular|looking for|any|narrow|different)\b",
    r"\b(?:another|do you (?:need|want|have|care)|would you like|how many|tell|know|provide|specify|change|need|or)\b",
)
ASKS_AFTER_ALL = re.compile(r"\b(?:what|which|prefer|range)\b")
"""What makes "anything else?" a question about a slot."""
REQUESTS: Final[tuple[tuple[str, Domain | None, re.Pattern[str]], ...]] = (
    ("day", None, one_of(r"(?<!many )(?<!great )(?<!nice )\b(?:days?|dates?|when)\b(?! of nights)")),
    (
        "people",
        None,
        one_of(
            r"\bhow many (?:people|guests|persons|of you|in|will|are|would|diners|seats)\b",
            r"\b(?:people|guests|persons|diners|party|group)\b",
            r"\bhow many ?$",
            r"\bhow many\b(?! (?:\w+ )?(?:nights|days|stars))",
        ),
    ),
    (
        "stay",
        "hotel",
        one_of(
            r"\b(?:how many|of|the) (?:nights|days)\b",
            r"\b(?:how long|length|nights|duration)\b",
            r"\b(?:shorter|longer|shorten|or|another|different) (?:\w+ )?stay\b",
        ),
    ),
    ("time", "restaurant", one_of(r"(?<!this )(?<!next )(?<!your )\btimes?\b", r"\bwhen\b", r"\byour (?:\w+ )?time\b")),
    ("area", None, one_of(r"\b(?:areas?|parts? of|locations?|side of|where|located)\b")),
    ("pricerange", None, one_of(r"\b(?:price|prices|priced|budget|pricing|cost)\b")),
    ("food", "restaurant", one_of(r"\b(?:food|foods|cuisines?|(?:type|kind) of restaurant)\b")),
    (
        "type",
        "hotel",
        one_of(
            r"\b(?:type|types|kind) of (?:hotel|accommodations?|place|lodgings?|room)\b",
            r"\bguesthouse or (?:a )?hotel\b",
            r"\bhotels? or (?:a )?guesthouse\b",
            r"\bhotel type\b",
        ),
    ),
    ("stars", "hotel", one_of(r"\bstars?\b", r"\brating\b")),
    ("internet", "hotel", one_of(r"\b(?:internet|wifi)\b")),
    ("parking", "hotel", one_of(r"\bparking\b")),
    ("name", None, one_of(r"\bnames?\b", r"\bwhich (?:one|hotel|restaurant|guesthouse|place|of)\b")),
)
"""Slot, the domain it belongs to alone, and what a question about it has."""
GIVEN: Final[dict[str, re.Pattern[str]]] = {
    "day": one_of(*(rf"\b{day}\b" for day in DAYS)),
    "people": one_of(r"\b" + NUMBER + r" (?:people|guests|persons|diners)\b", r"\b(?:party|group) of\b"),
    "stay": one_of(r"\b" + NUMBER + r" (?:nights?|days?)\b"),
    "time": one_of(r"<time>"),
}
"""Booking slots, and what makes a question with the slot's word one that gives the value itself."""

# --- values and domains ---

HOTEL_WORDS = re.compile(
    r"\b(?:hotels?|guesthouse|rooms?|stay|staying|nights?|stars?|parking|internet|wifi|lodging|accommodations?|"
    r"check in)\b"
)
RESTAURANT_WORDS = re.compile(r"\b(?:restaurants?|tables?|foods?|serves?|serving|cuisines?|eat|dine|dining|eatery)\b")
_OF_NAME = r"(?: (?:of|at|for)(?: the)? <name>)?"
STARS = one_of(
    r"\b(?P<n>" + NUMBER + r") stars?\b",
    r"\bstars?(?: rating)?" + _OF_NAME + r"(?: is| are| of| :|s)* (?P<m>" + NUMBER + r")\b",
    r"\brat(?:ed|ing)(?: is| of| at| as| a| :)* (?P<o>" + NUMBER + r")\b",
)
HOTEL_TYPE = one_of(
    r"\b(?:is|as|'s) an? (?:[\w<>]+ ){0,4}?hotel\b(?! (?:restaurant|bar))",
    r"\btype" + _OF_NAME + r"(?: is| :| of)*(?: an?)? hotel\b",
    r"\bhotel type\b(?! is)",
    r"\bstars? hotels?\b",
)
PLAINLY_HOTEL_TYPE = one_of(r"\btype" + _OF_NAME + r"(?: is| :)+(?: an?)? hotel\b", r"\bit is an? hotel\b")
UNKNOWN_PLACE = re.compile(
    r"\b(?:how about|recommend|suggest|try|called|named|(?:book(?:ed)?|reserved?|booking|reservation|table|room) "
    r"(?:\w+ ){0,2}(?:at|into|in))(?: the)? "
    r"((?:[a-z]+ ){1,3}(?:hotel|restaurant|guesthouse|inn|lodge|palace|cafe|bistro|house|grill|kitchen|brasserie))\b"
)
"""A place by its name, not masked and so not in the database; what it catches is checked for ordinary words."""
ADDRESS_LIKE = re.compile(
    r"\b\d{1,3}[a-z]? (?:[a-z]+ ){1,2}(?:road|street|lane|avenue|terrace|drive|square|hill|close|court)\b"
)
