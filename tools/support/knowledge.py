"""The knowledge base: full-text search over the shop's articles (SQLite's FTS5)."""

import re
from typing import Final

from sqlalchemy import text
from sqlalchemy.orm import Session

from tools.support.results import Answer, Denial, Fact, Inquiry, Operation
from tools.support.wording import done, refused

_ADVICE: Final = {
    "steps": Fact.ARTICLE_STEPS,
    "technical": Fact.ARTICLE_TECHNICAL,
    "hazard": Fact.ARTICLE_HAZARD,
    "policy": Fact.ARTICLE_POLICY,
}
_WORD: Final = re.compile(r"[A-Za-z0-9]+")
_MOST_WORDS: Final = 12


def search_articles(session: Session, inquiry: Inquiry) -> Answer:
    """The best article that has all the words."""
    operation = Operation.SEARCH_ARTICLES
    words = [word for each in inquiry.words for word in _WORD.findall(each)][:_MOST_WORDS]
    if not words:
        return refused("knowledge", operation, Denial.INCOMPLETE)
    row = session.execute(_SEARCH, {"words": " ".join(f'"{word}"' for word in words)}).one_or_none()
    if row is None:
        return refused("knowledge", operation, Denial.NOTHING_FOUND, Fact.NO_ARTICLE)
    title, body, advice = row
    return done("knowledge", operation, f"{title}. {body}", _ADVICE[advice])


_SEARCH: Final = text(
    "SELECT a.title, a.body, a.advice FROM articles_text JOIN articles AS a ON a.id = articles_text.rowid "
    "WHERE articles_text MATCH :words ORDER BY rank LIMIT 1"
)
