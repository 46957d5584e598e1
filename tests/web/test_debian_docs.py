"""Questions over other people's pages: all evidence is found through our tools, on pages served on loopback."""

import pytest

from bench.web_documents import items, missing, unmet

WHY = missing()


@pytest.mark.slow
@pytest.mark.skipif(bool(WHY), reason=WHY or "here")
async def test_the_evidence_of_every_question_is_found_on_pages_that_the_tools_lead_to() -> None:
    assert len(items()) == 20
    assert await unmet() == []
