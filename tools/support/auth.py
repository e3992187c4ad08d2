"""The auth service: proofs of identity, locked accounts, passwords.

A proof holds for one contact. A locked account stays locked without the second factor, and a locked account gets no
new password.
"""

from typing import Final

from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.orm import Session

from db.support import TODAY, Account, SignIn, Verification, table
from tools.support.records import Standing, read_standing
from tools.support.results import Answer, Denial, Fact, Inquiry, Operation
from tools.support.wording import DENIALS, done, refused


def verify_identity(session: Session, inquiry: Inquiry) -> Answer:
    """Compare the PIN that the customer said."""
    operation = Operation.VERIFY_IDENTITY
    standing = read_standing(session, inquiry)
    if standing is None:
        return refused("auth", operation, Denial.UNKNOWN_CUSTOMER)
    if inquiry.pin is None:
        return refused("auth", operation, Denial.INCOMPLETE, Fact.IDENTITY_REFUSED)
    if inquiry.pin != standing.pin:
        return refused("auth", operation, Denial.PIN_WRONG, Fact.IDENTITY_REFUSED)
    _prove(session, inquiry, "identity", standing.identity)
    states = (
        (standing.locked, Fact.ACCOUNT_LOCKED, Denial.ACCOUNT_LOCKED),
        (standing.flagged, Fact.ACCOUNT_FLAGGED, Denial.ACCOUNT_FLAGGED),
        (standing.closed, Fact.ACCOUNT_CLOSED, Denial.ACCOUNT_CLOSED),
    )
    found = [(fact, f" Note: {DENIALS[denial]}.") for true, fact, denial in states if true]
    text = "Identity verified." + "".join(note for _, note in found)
    return done("auth", operation, text, Fact.IDENTITY_VERIFIED, *(fact for fact, _ in found))


def confirm_second_factor(session: Session, inquiry: Inquiry) -> Answer:
    """Compare the code that the customer's second factor shows."""
    operation = Operation.CONFIRM_SECOND_FACTOR
    standing = read_standing(session, inquiry)
    if standing is None:
        return refused("auth", operation, Denial.UNKNOWN_CUSTOMER)
    if not standing.identity:
        return refused("auth", operation, Denial.NOT_VERIFIED)
    if standing.factor_code is None:
        return refused("auth", operation, Denial.NO_SECOND_FACTOR, Fact.FACTOR_REFUSED)
    if inquiry.code != standing.factor_code:
        return refused("auth", operation, Denial.CODE_WRONG, Fact.FACTOR_REFUSED)
    _prove(session, inquiry, "second factor", standing.second_factor)
    return done("auth", operation, "Second factor confirmed.", Fact.FACTOR_CONFIRMED)


def unlock_account(session: Session, inquiry: Inquiry) -> Answer:
    """Unlock an account, which needs both proofs."""
    operation = Operation.UNLOCK_ACCOUNT
    standing = read_standing(session, inquiry)
    if standing is None:
        return refused("auth", operation, Denial.UNKNOWN_CUSTOMER)
    if obstacle := standing.obstacle():
        return refused("auth", operation, obstacle)
    if not standing.second_factor:
        return refused("auth", operation, Denial.SECOND_FACTOR_NEEDED)
    session.execute(_UNLOCK, {"customer": inquiry.customer_id})
    session.commit()
    return done("auth", operation, "The account is unlocked.", Fact.ACCOUNT_UNLOCKED)


def reset_password(session: Session, inquiry: Inquiry) -> Answer:
    """Send the customer a link to a new password."""
    operation = Operation.RESET_PASSWORD
    standing = read_standing(session, inquiry)
    if standing is None:
        return refused("auth", operation, Denial.UNKNOWN_CUSTOMER)
    if obstacle := standing.obstacle() or _locked(standing):
        return refused("auth", operation, obstacle)
    session.execute(_RESET, {"customer": inquiry.customer_id})
    session.commit()
    return done("auth", operation, "A link to a new password has been sent.", Fact.PASSWORD_RESET)


def read_sign_ins(session: Session, inquiry: Inquiry) -> Answer:
    """The latest attempts to sign in."""
    operation = Operation.READ_SIGN_INS
    standing = read_standing(session, inquiry)
    if standing is None:
        return refused("auth", operation, Denial.UNKNOWN_CUSTOMER)
    if not standing.identity:
        return refused("auth", operation, Denial.NOT_VERIFIED)
    rows = session.execute(_SIGN_INS, {"customer": inquiry.customer_id}).all()
    text = "Latest sign-ins: " + ", ".join(f"{outcome} {TODAY - day} days ago" for day, outcome in rows) + "."
    return done("auth", operation, text, Fact.SIGN_INS_READ)


def _locked(standing: Standing) -> Denial | None:
    return Denial.ACCOUNT_LOCKED if standing.locked else None


def _prove(session: Session, inquiry: Inquiry, proof: str, known: bool) -> None:
    if not known:
        row = {"contact": inquiry.contact, "customer_id": inquiry.customer_id, "proof": proof}
        session.execute(_PROVE, row)
        session.commit()


_PROVE: Final = insert(table(Verification))
_OF_CUSTOMER: Final = update(table(Account)).where(table(Account).c.customer_id == bindparam("customer"))
_UNLOCK: Final = _OF_CUSTOMER.values(locked=0)
_RESET: Final = _OF_CUSTOMER.values(reset_day=TODAY)
_SIGN_INS: Final = (
    select(table(SignIn).c.day, table(SignIn).c.outcome)
    .where(table(SignIn).c.customer_id == bindparam("customer"))
    .order_by(table(SignIn).c.id.desc())
    .limit(3)
)
