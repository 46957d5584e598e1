"""Invented names: none is taken from a list of real firms or towns, and none is given twice.

Some are made close to one that exists, as names in the world are.
"""

from collections.abc import Callable
from random import Random

ONSETS = (
    "b",
    "br",
    "d",
    "dr",
    "f",
    "g",
    "gr",
    "h",
    "j",
    "k",
    "kr",
    "l",
    "m",
    "n",
    "p",
    "r",
    "s",
    "sk",
    "st",
    "t",
    "tr",
    "v",
)
NUCLEI = (*"aeiou" * 2, "aa", "ei", "ou", "ö", "é")
CODAS = ("n", "r", "l", "sk", "rn", "ld", "th", "v", "m")
FIRST_NAMES = (
    "Ada", "Arvid", "Asta", "Birk", "Brita", "Cato", "Dagny", "Eino", "Elke", "Falk", "Finna", "Gerda", "Halvor", "Hedda",
    "Ilsa", "Ilse", "Ivo", "Jorun", "Kaja", "Kalle", "Kalla", "Leif", "Liv", "Maren", "Marek", "Nils", "Nela", "Odd", "Oda",
    "Petra", "Rasmus", "Rika", "Runa", "Sander", "Sanna", "Signe", "Tamsin", "Tarje", "Ulf", "Una", "Vera", "Viggo", "Ylva",
)  # fmt: skip
SUFFIXES = {
    "shipyard": ("Marine", "Maritime", "Yards"),
    "glassworks": ("Glass", "Glassworks", "Crystal"),
    "paper mill": ("Paper", "Papers", "Mills"),
    "instrument maker": ("Instruments", "Optics", "Acoustics"),
    "tannery": ("Leather", "Leathers", "Hides"),
    "clockmaker": ("Clocks", "Horology", "Timepieces"),
    "cannery": ("Canning", "Preserves", "Fisheries"),
    "foundry": ("Foundry", "Castings", "Bells"),
}
"""What companies of each trade put behind their name."""
TRADES = tuple(SUFFIXES)
ADJECTIVES = (
    "Grey", "Red", "Quiet", "Tall", "Northern", "Patient", "Wet", "Blind", "Silver", "Late", "Young", "Lame", "Little", "Old",
    "Black", "Stubborn", "Hungry", "Lucky", "Pale", "Sleepy", "Southern", "Nimble", "Solemn", "Lonely",
)  # fmt: skip
ANIMALS = (
    "Heron", "Otter", "Badger", "Magpie", "Pike", "Lynx", "Stoat", "Raven", "Elk", "Hare", "Osprey", "Eel", "Adder", "Marten",
    "Plover", "Crane", "Mole", "Trout", "Hornet", "Vole", "Curlew", "Ram", "Weasel", "Toad",
)  # fmt: skip
NEAR = 0.15
"""Share of names that are made close to an earlier one."""


def word(rng: Random, syllables: int = 2) -> str:
    """A word of no language, with a capital letter."""
    body = "".join(rng.choice(ONSETS) + rng.choice(NUCLEI) for _ in range(syllables))
    return (body + rng.choice(CODAS)).capitalize()


class Names:
    """Gives every name once."""

    def __init__(self, rng: Random) -> None:
        self._rng, self._taken = rng, set[str]()
        self._firms, self._surnames = list[str](), list[str]()

    def company(self, trade: str) -> str:
        """Two words, or two joined by `&`."""
        return self._new(lambda: self._company(trade))

    def person(self) -> str:
        """First name and surname."""
        return self._new(lambda: f"{self._rng.choice(FIRST_NAMES)} {self._surname()}")

    def product(self, near: str = "") -> str:
        """A word and a number; of a product that is made after `near`, the same word."""
        return self._new(lambda: f"{near.split()[0] if near else word(self._rng)} {self._rng.randint(2, 99)}")

    def town(self) -> str:
        """One word."""
        return self._new(lambda: word(self._rng, self._rng.choice((1, 2))))

    def codename(self) -> str:
        """One word of three syllables."""
        return self._new(lambda: word(self._rng, 3))

    def prize(self) -> str:
        """A word and `Prize`."""
        return self._new(lambda: f"{word(self._rng)} Prize")

    def nickname(self) -> str:
        """The, a property, an animal."""
        return self._new(lambda: f"the {self._rng.choice(ADJECTIVES)} {self._rng.choice(ANIMALS)}")

    def _company(self, trade: str) -> str:
        if self._rng.random() < NEAR:
            return f"{word(self._rng)} & {word(self._rng)}"
        known = self._near(self._firms)
        self._firms.append(known)
        return f"{known} {self._rng.choice(SUFFIXES[trade])}"

    def _surname(self) -> str:
        self._surnames.append(self._near(self._surnames))
        return self._surnames[-1]

    def _near(self, earlier: list[str]) -> str:
        """A new word, or one that exists, or one that differs from it in its end."""
        if not earlier or self._rng.random() > NEAR:
            return word(self._rng)
        other = self._rng.choice(earlier)
        return other if self._rng.random() < 0.5 else other.rstrip("nrlskthvmd") + self._rng.choice(CODAS)

    def _new(self, draw: Callable[[], str]) -> str:
        while (name := draw()) in self._taken:
            pass
        self._taken.add(name)
        return name
