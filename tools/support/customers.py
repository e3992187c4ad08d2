"""The customer service: a customer's data, shown and changed only for a contact that has proved its identity."""

from typing import Final

from sqlalchemy import bindparam, select, update
from sqlalchemy.orm import Session

from db.support import Customer, table
from tools.support.records import read_standing
from tools.support.results import Answer, Denial, Fact, Inquiry, Operation
from tools.support.wording import done, refused


def read_profile(session: Session, inquiry: Inquiry) -> Answer:
    """What is stored about the customer."""
    operation = Operation.READ_PROFILE
    standing = read_standing(session, inquiry)
    if standing is None:
        return refused("customer", operation, Denial.UNKNOWN_CUSTOMER)
    if not standing.identity:
        return refused("customer", operation, Denial.NOT_VERIFIED)
    email, address = session.execute(_PROFILE, {"customer": inquiry.customer_id}).one()
    return done("customer", operation, f"Address: {address}. E-mail: {email}.", Fact.PROFILE_READ)


def change_address(session: Session, inquiry: Inquiry) -> Answer:
    """Store the address that the customer said."""
    operation = Operation.CHANGE_ADDRESS
    if not inquiry.address:
        return refused("customer", operation, Denial.INCOMPLETE)
    standing = read_standing(session, inquiry)
    if standing is None:
        return refused("customer", operation, Denial.UNKNOWN_CUSTOMER)
    if obstacle := standing.obstacle():
        return refused("customer", operation, obstacle)
    session.execute(_MOVE, {"customer": inquiry.customer_id, "new_address": inquiry.address})
    session.commit()
    return done("customer", operation, f"The address is now {inquiry.address}.", Fact.ADDRESS_CHANGED)


def change_email(session: Session, inquiry: Inquiry) -> Answer:
    """Store the e-mail address that the customer said; whoever holds it can sign in, so it needs both proofs."""
    operation = Operation.CHANGE_EMAIL
    if not inquiry.email:
        return refused("customer", operation, Denial.INCOMPLETE)
    standing = read_standing(session, inquiry)
    if standing is None:
        return refused("customer", operation, Denial.UNKNOWN_CUSTOMER)
    if obstacle := standing.obstacle():
        return refused("customer", operation, obstacle)
    if not standing.second_factor:
        return refused("customer", operation, Denial.SECOND_FACTOR_NEEDED)
    session.execute(_RENAME, {"customer": inquiry.customer_id, "new_email": inquiry.email})
    session.commit()
    return done("customer", operation, f"The e-mail address is now {inquiry.email}.", Fact.EMAIL_CHANGED)


_C: Final = table(Customer).c
_PROFILE: Final = select(_C.email, _C.address).where(_C.id == bindparam("customer"))
_CHANGE: Final = update(table(Customer)).where(_C.id == bindparam("customer"))
_MOVE: Final = _CHANGE.values(address=bindparam("new_address"))
_RENAME: Final = _CHANGE.values(email=bindparam("new_email"))
