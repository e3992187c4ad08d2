"""Which venues a name means."""

import pytest

from db.seed import Domain, load_venues
from tools.names import closest_names, match_names

NAMES: dict[Domain, tuple[str, ...]] = {
    domain: tuple(str(row["name"]) for row in load_venues(domain)) for domain in ("hotel", "restaurant")
}
ALL = [(domain, name) for domain, names in NAMES.items() for name in names]


@pytest.mark.parametrize(("domain", "name"), ALL)
def test_every_name_means_its_venue_alone(domain: Domain, name: str) -> None:
    for written in (name, name.upper(), name.replace("'", ""), f"  {name}. ", name.replace(" and ", " & ")):
        assert match_names(written, NAMES[domain]) == (name,)


@pytest.mark.parametrize(
    ("domain", "written", "name"),
    [
        ("hotel", "acorn", "acorn guest house"),
        ("hotel", "acorn guesthouse", "acorn guest house"),
        ("hotel", "the acorn guest house in cambridge", "acorn guest house"),
        ("hotel", "gonvile hotel", "gonville hotel"),
        ("hotel", "city center north b&b", "city centre north b and b"),
        ("hotel", "rosas bed & breakfast", "rosa's bed and breakfast"),
        ("hotel", "alexander b&b", "alexander bed and breakfast"),
        ("hotel", "alpha milton guest house", "alpha-milton guest house"),
        ("hotel", "cambridge belfry", "the cambridge belfry"),
        ("restaurant", "ask", "ask restaurant"),
        ("restaurant", "gandhi", "the gandhi"),
        ("restaurant", "st johns chop house", "saint johns chop house"),
        ("restaurant", "frankie and benny's", "frankie and bennys"),
        ("restaurant", "pizza express fen ditton", "pizza express Fen Ditton"),
        ("restaurant", "cambridge lodge", "cambridge lodge restaurant"),
        ("restaurant", "midsumer house", "midsummer house restaurant"),
    ],
)
def test_a_name_may_be_short_or_misspelt(domain: Domain, written: str, name: str) -> None:
    assert match_names(written, NAMES[domain]) == (name,)


def test_a_name_may_mean_several_venues() -> None:
    assert match_names("pizza hut", NAMES["restaurant"]) == (
        "pizza hut city centre",
        "pizza hut cherry hinton",
        "pizza hut fen ditton",
    )


@pytest.mark.parametrize("name", ["the ritz", "zzzz", "", "!!", "hilton hotel", "curry palace of rome"])
def test_a_name_of_no_venue_means_none(name: str) -> None:
    assert match_names(name, NAMES["hotel"]) == ()
    assert match_names(name, NAMES["restaurant"]) == ()


def test_the_closest_names_are_suggested() -> None:
    assert closest_names("curry prinses", NAMES["restaurant"])[0] == "curry prince"
    assert len(closest_names("curry", NAMES["restaurant"], limit=3)) == 3
