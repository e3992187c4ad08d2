"""The regular expressions by which the scripted expert reads users: one place to look at and to extend.

All are written for text as ``reading.plain`` leaves it, lower-case, with venue names masked as ``@h0`` (a hotel's),
``@r0`` (a restaurant's) or ``@hr0``. ``reading`` owns how they are applied.
"""

import re

from tools.results import Domain

_NUMBER = r"(\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten)"

# --- values ---

AREA = re.compile(r"\b(north|south|east|west|northern|southern|eastern|western|centre|center|central|downtown)\b")
PRICE = re.compile(
    r"\b(cheap|cheaper|inexpensive|budget|affordable|moderate|moderately|mid-range|reasonable|reasonably"
    r"|expensive|pricey|upscale|upmarket|luxury|luxurious|fancy|high ?- ?end)\b"
)
STARS = re.compile(rf"\b(\d|zero|one|two|three|four|five)[ -]stars?\b|\bstars?(?: rating)? of {_NUMBER}\b")
SAME_AREA = re.compile(r"\bsame (?:area|part of (?:the )?(?:town|city)|location)\b(?: as (?:the|my|our) \w+)?")
SAME_PRICE = re.compile(r"\bsame price(?: ?range)?\b(?: as (?:the|my|our) \w+)?")
SAME_DAY = re.compile(r"\bsame (?:day|date)\b")
SAME_PEOPLE = re.compile(r"\b(?:the |for )same (?:(?:group|number|amount) of )?people\b|\bsame (?:group|party)\b")
DAY = re.compile(r"\b(monday|tuesday|wednesday|thursday|friday|saturday|sunday|mon|tues?|weds?|thurs?|thu|fri|sat)\b")
TIME = re.compile(
    r"\b(\d{1,2}:\d{2}(?: ?[ap]\.?m\b\.?)?|\d{1,2} ?[ap]\.?m\b\.?|noon|midday"
    rf"|(?:half|quarter) (?:past|to) {_NUMBER}|{_NUMBER} o'?clock)"
)
AT_HOUR = re.compile(rf"\bat {_NUMBER}\b(?! (?:people|person|night))")
PEOPLE = (
    re.compile(rf"\b{_NUMBER} (?:people|persons?|guests?|adults|diners|of us)\b"),
    re.compile(rf"\b(?:party|group) of {_NUMBER}\b"),
    re.compile(
        rf"\b(?:table|reservation|booking|room|book(?: it)?) for {_NUMBER}\b(?! ?(?:nights?|days?|[ap]m|stars?|o'|:))"
    ),
    re.compile(rf"\bfor {_NUMBER}(?= (?:at|on|and|please|,)|$)"),
    re.compile(rf"\b{_NUMBER} seats?\b"),
)
ALONE = re.compile(r"\b(just (?:be )?me|just myself|only me|by myself)\b")
STAY = re.compile(rf"\b{_NUMBER} (?:nights?|days)\b")
GUESTHOUSE = re.compile(r"\b(guest ?house|bed and breakfast|b&b)s?\b")
NO_GUESTHOUSE = re.compile(r"\b(?:not|n't want|rather than|instead of) a (?:guest ?house|bed and breakfast|b&b)\b")
WANTS_HOTEL = re.compile(
    r"\b(?:prefer a|actually (?:am |was )?looking for a|finding a|one that is a|that's a|would like a|them a|it a"
    r"|should be a|must be a) hotel\b(?! (?:called|call|named|room|in|with|that|by|near|for))"
    r"|\bhotel type\b|\btype (?:should be|is) hotel\b"
)
FOOD_PHRASE = re.compile(
    r"\b(?:any|some|an?|try|have|serves?|serving|about|prefer|find|want|like|eat|for|is|craving|trying)"
    r" ((?:[a-z]+ ){0,2}[a-z]+) (?:food|cuisine|restaurants?|dishes)\b"
)
_NOT_A_FOOD = """
    a an the some any of to at on in by and or me us my this that these those it its which what kind type types sort
    priced price range particular certain specific nice good great best fine lovely local different other another more
    same new fancy free find information info about looking look for want like need try have serve serves food
    restaurant restaurants place places one two popular quality decent favorite special details there here is are be do
    you i book reservation table them they all suggestions recommend recommendation please also just with from that s
"""
NOT_A_FOOD = frozenset(_NOT_A_FOOD.split())
"""Words that stand before "restaurant" or "food" and name no cuisine."""
NAME_PHRASE = re.compile(
    r"\b(?:called|named|name is|by the name of|hotel call|restaurant call|stay at)(?: the)?"
    r" (?!(?:an?|any|for|with|in|one|near|at|that|which)\b)((?:[\w'&-]+ ?){1,7}?)(?: (?:hotel|restaurant|please))*$"
)
"""A name that the database need not have."""
NAME_EXPECTED = re.compile(
    r"(?:^i would like|^i'd like|\bcalled|\bnamed|\bname is|\bby the name of|\bhotel call|\bstay at|\blooking for"
    r"|\bnumber for|\bdetails on|\binfo about|\binformation on|\btell me about|\bbook)(?: the)?"
    r" ([\w'&-]+)(?: (?:hotel|restaurant))?(?: please)?$"
)
"""A short name, which elsewhere would be a common word."""

# --- questions ---

INTERNET = re.compile(r"\b(?:internet|wi-?fi|wireless)\b")
PARKING = re.compile(r"\bparking\b")
REQUEST_WORDS = {
    "phone": re.compile(r"\b(?:tele)?phone\b|\bcontact number\b|\bnumber for (?:the )?@|\bgive me the number for\b"),
    "postcode": re.compile(r"\bpost ?codes?\b|\bpostal codes?\b|\bzip ?codes?\b"),
    "address": re.compile(r"\baddress\b"),
    "ref": re.compile(r"\b(?:reference|confirmation|ref)\b"),
}
AREA_QUESTION = re.compile(
    r"\b(?:area|part of (?:the )?(?:town|city))\b|\bwhere (?:is|are) (?:it|they|that)\b|\blocated\b"
)
PRICE_QUESTION = re.compile(r"\bprice(?: ?range)?\b|\bhow much\b|\bhow expensive\b")
TYPE_QUESTION = re.compile(
    r"\b(?:type|kind) of (?:hotels?|places?|accommodations?|lodging)\b|\bhotel or (?:a )?guest ?house\b"
)
FOOD_QUESTION = re.compile(r"\b(?:types?|kinds?) of (?:food|cuisine)\b|\bfood type\b|\bwhat (?:food|cuisine)\b")
STARS_QUESTION = re.compile(r"\bhow many stars\b|\bstar rating\b|\bnumber of stars\b|\bwhat stars\b")
ASKS_WHETHER = re.compile(
    r"\b(?:do|does|did) (?:they|it|that|this|the|any|all|you know|either|both|@)"
    r"|\b(?:is|are) there (?:any )?(?:free )?(?:parking|wifi|internet)|\b(?:if|whether|confirm)\b"
)
NEEDS_NO = re.compile(
    r"\b(?:doesn't|don't|do not|does not|needn't|shouldn't|won't) (?:really )?(?:need|have to have|require)\b"
)
NO_MATTER = re.compile(
    r"\b(?:don't|doesn't|do not|does not|dont|doesnt) (?:really )?(?:care|mind|matter)\b"
    r"|\bno (?:particular |specific |real )?preferences?\b|\bno (?:particular|specific) \w+"
)
ANY_VALUE = re.compile(r"\bany (?:area|price(?: range)?|type|part of (?:the )?(?:town|city)|food|cuisine)\b")
SLOT_WORDS = {
    "area": re.compile(r"\b(?:area|part of|location|located)\b"),
    "pricerange": re.compile(r"\bprice\b"),
    "type": re.compile(r"\btype\b(?! of (?:food|cuisine))"),
    "stars": re.compile(r"\bstars?\b"),
    "internet": INTERNET,
    "parking": PARKING,
    "food": re.compile(r"\b(?:food|cuisine)\b"),
    "name": re.compile(r"\bname\b"),
}
"""Which slot a user does not care about."""

# --- what the user wants done ---

BOOK = re.compile(r"\b(?:book|booking|booked|reserve|reservations?|schedule it)\b(?! one that)")
NOT_BOOK = re.compile(
    r"\b(?:don't|do not) (?:need|want) (?:to (?:book|make)|a (?:room|table|booking|reservation))"
    r"|\bnot looking to (?:make|book)|\bno (?:booking|reservation)|\bnot (?:right now|at the moment)\b|\bdon't book\b"
)
CHOOSE = re.compile(
    r"\bpick one\b|\b(?:select|choose) one\b|\bany ?one (?:would|will|is)\b|\bany of (?:them|those)\b|\beither\b"
    r"|\bsurprise me\b|\bwhich (?:one )?(?:would|do) you recommend\b|\byou (?:choose|decide|pick)\b|\brecommend\b"
    r"|\bwhich ?ever\b"
)
AGREES = re.compile(
    r"^(?:yes|yeah|yep|yup|sure|ok|okay|perfect|great|please do|that (?:works|will work|would work)"
    r"|sounds good|go ahead)\b"
)
CLOSES = re.compile(
    r"\b(?:good)?bye\b|\ball set\b|\bthat(?:'s| is| will be) all\b|\bthat will do\b|\bthanks?\b|\bdon't need anything\b"
)
GREETS = re.compile(r"^(?:hello|hi|hey|good (?:morning|afternoon|evening))\b")

# --- whom the user speaks to ---

AS_THE = re.compile(r"\b(?:as|near|by|close to|next to) (?:the|my|our) (?:hotel|restaurant|guest ?house)\b")
"""A mention of the other domain that asks nothing of it."""
CUES: dict[Domain, re.Pattern[str]] = {
    "hotel": re.compile(
        r"\b(?:hotels?|guest ?houses?|stay|staying|accommodations?|lodging|rooms?|nights?|check in|stars?|parking"
        r"|internet|wi-?fi|bed and breakfast|b&b)\b"
    ),
    "restaurant": re.compile(
        r"\b(?:restaurants?|food|eat|eating|dine|dining|diner|tables?|cuisine|serves?|meal|dinner|lunch|hungry"
        r"|gastropub)\b"
    ),
}
SENTENCE = re.compile(r"(?<=[^ap][.?!])\s+|(?<=\s[.?!])\s+|[.?!]\s*$")
CLAUSE = re.compile(r" and (?:also )?| , |, | but | then ")
