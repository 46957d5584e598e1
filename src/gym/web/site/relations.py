"""What the relations of the world are called on pages and in questions.

`sentence` and `backwards` state a fact, on the page of its subject and of its value; `step` and `back` name the value by the
subject and the subject by the value; `asks` are questions for the value. Several wordings mean the same.
"""

from dataclasses import dataclass

from gym.web.site.forms import Kind


@dataclass(frozen=True)
class Relation:
    """One kind of fact."""

    kind: Kind
    """Of its value."""
    label: str
    """Before the value in a table or a list of definitions."""
    sentence: str
    backwards: str = ""
    step: tuple[str, ...] = ()
    back: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    unit: str = ""
    """Behind the value, where it has one."""
    more: str = ""
    """A question for the difference of two values, where that makes sense."""


RELATIONS: dict[str, Relation] = {
    "number": Relation(
        "code",
        "Register number",
        "{subject} is entered in the register under the number {value}.",
        asks=("What is the register number of {}?", "Under which number is {} entered in the register?"),
    ),
    "director": Relation(
        "person",
        "Managing director",
        "The managing director of {subject} is {value}.",
        "{value} is the managing director of {subject}.",
        step=("the managing director of {}", "the person who runs {}"),
        back=("the company that {} runs",),
        asks=("Who is the managing director of {}?", "Who runs {}?"),
    ),
    "seat": Relation(
        "town",
        "Head office",
        "The head office of {subject} is in {value}.",
        step=("the town where {} has its head office", "the seat of {}"),
    ),
    "founded": Relation(
        "date",
        "Founded",
        "The founding deed of {subject} is dated {value}.",
        asks=("On what date was {} founded?", "What is the date of the founding deed of {}?"),
    ),
    "founder": Relation(
        "person",
        "Founder",
        "The founder of {subject} was {value}.",
        "{value} founded {subject}.",
        step=("the founder of {}", "the person who founded {}"),
        back=("the company that {} founded",),
        asks=("Who founded {}?", "What is the name of the founder of {}?"),
    ),
    "owner": Relation(
        "company",
        "Taken over by",
        "{subject} was taken over by {value}.",
        "{value} took over {subject}.",
        step=("the company that took over {}", "the owner of {}"),
        asks=("Which company took over {}?",),
    ),
    "taken over": Relation(
        "date",
        "Date of the takeover",
        "The takeover of {subject} took effect on {value}.",
        asks=("On what date did the takeover of {} take effect?",),
    ),
    "takeover price": Relation(
        "number",
        "Price paid",
        "The price paid for {subject} was {value} crowns.",
        asks=("For how many crowns was {} taken over?", "How many crowns did the buyer pay for {}?"),
        unit="crowns",
    ),
    "former director": Relation(
        "person",
        "Managing director until then",
        "Until then {value} had been the managing director of {subject}.",
        asks=("Who ran {} before its present managing director?", "Whom did the managing director of {} succeed?"),
    ),
    "appointed": Relation(
        "date",
        "In office since",
        "The managing director of {subject} took office on {value}.",
        asks=("On what date did the managing director of {} take office?",),
    ),
    "former name": Relation("company", "Earlier name", "{value} is the name that {subject} bore in its first years."),
    "office opened": Relation("year", "Opened", "The office in {qualifier} was opened in {value}."),
    "staff": Relation("number", "Staff", "The office in {qualifier} has a staff of {value}.", unit="people"),
    "turnover": Relation(
        "number", "Turnover", "The turnover of {qualifier} was {value} thousand crowns.", unit="thousand crowns"
    ),
    "born": Relation(
        "date",
        "Born",
        "{subject} was born on {value}.",
        asks=("On what date was {} born?", "What is the date of birth of {}?"),
    ),
    "birthplace": Relation(
        "town",
        "Birthplace",
        "{subject} comes from {value}.",
        step=("the birthplace of {}", "the town that {} comes from"),
    ),
    "mentor": Relation(
        "person",
        "Trained under",
        "{subject} trained under {value}.",
        "{value} trained {subject}.",
        step=("the person under whom {} trained", "the teacher of {}"),
        asks=("Under whom did {} train?",),
    ),
    "nickname": Relation("nickname", "Known as", "Old colleagues call {subject} “{value}”."),
    "maker": Relation(
        "company",
        "Maker",
        "{subject} is made by {value}.",
        "{value} makes {subject}.",
        step=("the maker of {}", "the company that makes {}"),
        asks=("Which company makes {}?",),
    ),
    "designer": Relation(
        "person",
        "Designer",
        "{subject} was designed by {value}.",
        "{value} designed {subject}.",
        step=("the designer of {}", "the person who designed {}"),
        back=("the product that {} designed",),
        asks=("Who designed {}?",),
    ),
    "launched": Relation(
        "date",
        "Launched",
        "{subject} was launched on {value}.",
        asks=("On what date was {} launched?",),
    ),
    "weight": Relation(
        "number",
        "Weight",
        "{subject} weighs {value} grams.",
        asks=("How many grams does {} weigh?", "What is the weight of {} in grams?"),
        unit="grams",
        more="By how many grams do the weights of {} and of {} differ?",
    ),
    "price": Relation(
        "number",
        "Price",
        "The price of {subject} is {value} crowns.",
        asks=("How many crowns does {} cost?", "What is the price of {} in crowns?"),
        unit="crowns",
        more="By how many crowns do the prices of {} and of {} differ?",
    ),
    "model": Relation(
        "product",
        "Modelled on",
        "{subject} was modelled on {value}.",
        "{value} was the model for {subject}.",
        step=("the product that {} was modelled on", "the model for {}"),
        back=("the product that was modelled on {}",),
    ),
    "codename": Relation("codename", "Code name", "The code name of {subject} was {value}."),
    "charter": Relation(
        "year",
        "Charter",
        "{subject} received its charter in {value}.",
        asks=("In which year did {} receive its charter?",),
    ),
    "population": Relation(
        "number",
        "Inhabitants",
        "{subject} has {value} inhabitants.",
        asks=("How many inhabitants does {} have?", "What is the population of {}?"),
        more="By how many inhabitants do {} and {} differ?",
    ),
    "mayor": Relation(
        "person",
        "Mayor",
        "The mayor of {subject} is {value}.",
        asks=("Who is the mayor of {}?",),
    ),
    "altitude": Relation(
        "number",
        "Height above the sea",
        "{subject} lies {value} metres above the sea.",
        asks=("How many metres above the sea does {} lie?",),
        unit="metres",
    ),
    "winner": Relation(
        "product",
        "Winner",
        "The {subject} of {qualifier} went to {value}.",
        "{value} won the {subject} of {qualifier}.",
    ),
}
