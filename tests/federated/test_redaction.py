"""What may leave a node: opted in, redacted, seen."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym.core.experience import Experience, Library
from gym.errors import ConfigError
from gym.federated.redaction import Consent, approved, preview, redacted

LIBRARY = Library(
    entries=(
        Experience(
            id="G0", text="When a refund is asked, mail anna.b@acme.example first.", confidence=0.9, domain="support"
        ),
        Experience(id="G1", text="When adding fractions, find a common denominator.", confidence=0.9, domain="math"),
        Experience(id="G2", text="When late, say so.", confidence=0.5, domain="support"),
        Experience(id="G3", text="When unsure, ask.", confidence=0.9),
    ),
    next_id=4,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ask jo.doe+x@mail.example.org first.", "Ask <e-mail> first."),
        ("See https://intra.example/a?b=1 for it.", "See <address> for it."),
        ("Ask the host 10.0.12.7 twice.", "Ask the host <host> twice."),
        ("Use 2001:db8:0:1:1:1:1:1 then.", "Use <host> then."),
        ("Call +49 (30) 123-4567 now.", "Call <number> now."),
        ("Card 4111 1111 1111 1111 is refused.", "Card <number> is refused."),
        ("Pay DE89 3704 0044 0532 0130 00 only.", "Pay <account> only."),
        ("Use sk-live-abcdef0123456789 here.", "Use <key> here."),
        ("Use token 0123456789abcdef0123456789abcdef.", "Use token <key>."),
        ("Read /home/anna/notes.txt before.", "Read <path> before."),
        (r"Read C:\Users\anna before.", "Read <path> before."),
        ("When Acme Corp writes, ask ANNA.", "When <name> writes, ask <name>."),
    ],
)
def test_what_has_a_form_is_taken_out(text: str, expected: str) -> None:
    assert redacted(text, ["Anna", "Acme Corp", "Acme"]).text == expected


@pytest.mark.parametrize(
    "text",
    [
        "When a percent rises from 12.5 to 1,000,000.25, multiply.",
        "If 3 of 100 fail in 2024, check 1/2 and 0.333 again.",
        "For x/y and a/b, split (1 + 2) * 3.",
        "When SQL compares NULL, use IS NULL; see section 4.2.1.",
        "An annals entry is no Annabel.",
    ],
)
def test_what_a_strategy_needs_stays(text: str) -> None:
    assert redacted(text, ["Anna"]) == (text, ())


@settings(max_examples=30)
@given(st.text(max_size=80))
def test_a_redacted_text_has_nothing_more_to_redact(text: str) -> None:
    once = redacted(text, ["Anna"]).text
    assert redacted(once, ["Anna"]).text == once


def sent(*texts: str, domain: str = "d", names: tuple[str, ...] = ()) -> list[tuple[str | None, str]]:
    entries = [Experience(id=f"G{n}", text=text, confidence=0.9, domain=domain) for n, text in enumerate(texts)]
    found = preview(Library.of(entries, len(entries)), Consent(domains=frozenset({domain}), names=names))
    return [(row.sent, row.reason) for row in found.rows]


def test_what_redaction_makes_alike_leaves_once_since_a_bundle_says_nothing_twice() -> None:
    assert sent("When jo@a.example is down, wait.", "When ann@b.example is down, wait!") == [
        ("When <e-mail> is down, wait.", ""),
        (None, "it says what G0 says"),
    ]


def test_what_no_bundle_takes_stays_with_its_reason() -> None:
    assert sent("When " + 1100 * "x") == [(None, "1,105 bytes of text, at most 1,024 are taken")]
    assert sent("When late, call.", domain=81 * "d") == [(None, "a domain of 81 characters, at most 80 are taken")]


@pytest.mark.parametrize("text", ["Ask Am\u00e9lie.", "Ask Ame\u0301lie.", "Ask Am\u00e9\u00adlie."])
@pytest.mark.parametrize("name", ["Am\u00e9lie", "Ame\u0301lie"])
def test_names_are_found_however_their_letters_are_composed(text: str, name: str) -> None:
    assert sent(text, names=(name,)) == [("Ask <name>.", "")]


def test_nothing_leaves_without_consent() -> None:
    found = preview(LIBRARY, Consent())
    assert found.sent == ()
    assert [row.reason for row in found.rows] == [
        "the domain support is not opted in", "the domain math is not opted in",
        "the domain support is not opted in", "the domain (none) is not opted in",
    ]  # fmt: skip


def test_a_preview_shows_what_would_leave_and_why_the_rest_stays() -> None:
    found = preview(LIBRARY, Consent(domains=frozenset({"support"})))
    assert [(row.id, row.sent, row.found) for row in found.sent] == [
        ("G0", "When a refund is asked, mail <e-mail> first.", ("e-mail",))
    ]
    assert found.rows[2].reason == "confidence 0.50, below 0.7"


def test_only_what_was_seen_leaves() -> None:
    consent = Consent(domains=frozenset({"support", ""}))
    seen = preview(LIBRARY, consent)
    assert approved(seen, preview(LIBRARY, consent)) == seen.sent
    wider = preview(LIBRARY, Consent(domains=frozenset({"support", "", "math"})))
    with pytest.raises(ConfigError, match=r"changed since its owner saw it \(G1\): preview it again"):
        approved(seen, wider)
    with pytest.raises(ConfigError, match="less leaves"):
        approved(wider, seen)
