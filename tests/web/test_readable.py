"""What a page says is in its text: headings, tables, lists, definitions; and no page can do harm by being read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from gym.web.links import MOST_LINKS
from gym.web.markup import HARMLESS, MOST_ATTRIBUTES, bearable
from gym.web.outline import CUT, outline
from gym.web.page import Link, Page
from gym.web.readable import read_html, read_text
from gym.web.table import MOST_AGAIN

URL = "http://a.example/docs/page.html"


def text(html: str) -> str:
    return read_html(URL, html).text


@pytest.mark.parametrize(
    ("html", "lines"),
    [
        (
            "<h2>Big <em>one</em><a href='#x'>¶</a></h2><p>Some\n  text <b>here</b>.</p>",
            "## Big one\n\nSome text here.",
        ),
        ("<ul><li>a<li>b<ul><li>c</ul></ul>", "- a\n- b\n  - c"),
        ("<ol start=3><li><p>x</p><p>y</p></li><li>z</ol>", "3. x\n\n  y\n\n4. z"),
        ("<dl><dt>port<dd>995<dt>host<dd>none</dl>", "port\n  995\nhost\n  none"),
        ("<pre>if x:\n    y\t1</pre>", "if x:\n    y   1"),
        ("2<sup>32</sup> rows, note<sup>[1]</sup>", "2^32 rows, note[1]"),
        ("a<br>b<hr>c", "a\nb\n\nc"),
        ("<img alt='A map'> <img alt=''>", "[image: A map]"),
        ("so\u00adft\u200b word\U000e0049\U000e0047\u202e", "soft word"),
        ("क्\u200dष", "क्\u200dष"),
    ],
)
def test_each_kind_of_text_keeps_its_form(html: str, lines: str) -> None:
    assert text(html) == lines


@pytest.mark.parametrize(
    ("html", "lines"),
    [
        ("<table><tr><th>item<th>limit<tr><td>columns<td>1,600</table>", "item | limit\ncolumns | 1,600"),
        ("<table><tr><td>a<td><td>c</table>", "a |  | c"),
        ("<table><tr><td><p>a</p><td><p>b</p><p>c</p></table>", "a | b / c"),
        ("<table><tr><td rowspan=2>2019<td>A<tr><td>B</table>", "2019 | A\n2019 | B"),
        ("<table><tr><td>x<td rowspan=2>y<tr><td>z</table>", "x | y\nz | y"),
        ("<table><tr><td colspan=2>wide<td>c<tr><td>a<td>b<td>c</table>", "wide |  | c\na | b | c"),
        ("<table><tr><td><table><tr><td>1<td>2</table><td>menu</table>", "1 | 2\n\nmenu"),
        ("<table><tr><td><h1>Main</h1><p>long</p><td>side</table>", "# Main\n\nlong\n\nside"),
        ("<table><tr><td><p>name ()</p><p>What it does.</p></table>", "name ()\n\nWhat it does."),
    ],
)
def test_a_row_of_a_table_stays_a_row_and_a_layout_is_read_as_blocks(html: str, lines: str) -> None:
    assert text(html) == lines


def test_scripts_styles_and_what_the_page_hides_are_left_out() -> None:
    hidden = "<script>1</script><style>2</style><template>3</template><p hidden>4</p><div style='display: none'>5<b>6</b></div>"
    assert text(f"<p>seen{hidden}, still</p><noscript>no scripts</noscript>") == "seen\n\n, still\nno scripts"


def test_links_are_absolute_each_once_and_lead_elsewhere() -> None:
    page = read_html(
        URL,
        """<a href="#top">top</a> <a href="page.html#x">itself</a> <a href="b.html#one"></a> <a href=" b.html#two ">B
        page</a> <a href="mailto:x@y">mail</a> <a href="javascript:go()">go</a> <a href="http://[bad">bad</a>
        <a href="/c d?q=ü"><img alt="C"></a> <area href="d.html" alt="D"> <iframe src="e.html"></iframe>
        <meta http-equiv="Refresh" content="0; url='f.html'">""",
    )
    assert [(link.text, link.url.removeprefix("http://a.example")) for link in page.links] == [
        ("B page", "/docs/b.html"),
        ("C", "/c%20d?q=%C3%BC"),
        ("D", "/docs/d.html"),
        ("frame", "/docs/e.html"),
        ("this page leads on", "/docs/f.html"),
    ]


def test_a_title_and_a_links_text_are_one_visible_line_of_bounded_length() -> None:
    page = read_html(
        URL, f"<title>T {'t ' * 999}</title><a href=b>\u200bB\n\n{'b ' * 999}</a><frame src=c title='C\nc'>"
    )
    assert (page.title[:4], len(page.title)) == ("T t ", 300)
    assert [(link.text[:3], len(link.text)) for link in page.links] == [("B b", 120), ("C c", 3)]
    assert len(read_html(f"http://a.example/{'a' * 999}", "").title) == 300


def test_a_base_element_moves_the_links() -> None:
    assert read_html(URL, "<base href='/x/'><a href='y'>Y</a>").links == (Link(text="Y", url="http://a.example/x/y"),)


@pytest.mark.parametrize(
    ("html", "title"),
    [("<title> A\n b </title><h1>C</h1>", "A b"), ("<h1>C</h1>", "C"), ("x", "page.html"), ("", "page.html")],
)
def test_a_page_has_a_title(html: str, title: str) -> None:
    assert read_html(URL, html).title == title


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 300_000 + "deep",
        "<b>" * 100_000 + "<p>" * 100_000,
        "<table><tr><td>" * 50_000 + "x",
        "<ul><li>" * 50_000 + "x",
        "<a href=x>x" * 20_000,
        ("<table><tr>" + ("<td rowspan=200>" + "y" * 200) * 40 + "<tr><td>" * 200 + "</table>") * 3,
        "<td>" * 1000 + "</tr>" * 1000,
        "</table></td></li></dd></pre></ul>",
        "<![CDATA[" * 1000,
        "\0<p>\ud800</p>&#0;&#xd800;&#99999999;",
    ],
)
def test_hostile_markup_is_read_in_bounded_time_and_size(html: str) -> None:
    assert len(text(html)) <= 2 * len(html) + MOST_AGAIN


def test_of_a_page_with_very_many_links_the_first_are_listed() -> None:
    html = "".join(f"<a href={number}>x</a>" for number in range(MOST_LINKS + 1))
    assert read_html(URL, html).links[-1].url.endswith(f"/{MOST_LINKS - 1}")


CROWD = " ".join(f"a{n}=1" for n in range(90_000)) + ">x"


@pytest.mark.parametrize(
    "html",
    [
        f"<p {CROWD}",
        f"<p b='>' {CROWD}",
        f"<p x< {CROWD}",
        f'<p a==" {CROWD}',
        f'<p a"b=" {CROWD}">x',
        f"<p/{CROWD.replace(' ', '/')}",
        f"<!--><p {CROWD}",
        f"<!-- --!><p {CROWD}",
        f'<!x <p a="> <p {CROWD}">',
        f'<title><p a="</title><p {CROWD}">',
        f'<style><p a="</style/><p {CROWD}">',
        f'<script><!--<script></script><p a="--></script></script><p {CROWD}">',
    ],
)
def test_a_tag_of_very_many_attributes_never_reaches_the_parser(html: str) -> None:
    root = etree.HTML(bearable(html))
    assert max(len(each.attrib) for each in root.iter()) < MOST_ATTRIBUTES


def test_a_long_page_is_read_as_a_short_one() -> None:
    html = (
        "<!doctype html><!-- <p>no --><title>T <b> &amp; t</title><script>if (a<b) { c > d }</script><style>p > a</style>"
        "<p title='a > b' hidden-not>x < y<br/>z</p><textarea><p>t</textarea><TABLE><tr><td>1<td class=x>2</TABLE><p>end"
    )
    long = html + " " * HARMLESS
    assert bearable(long) != long
    assert read_html(URL, long) == read_html(URL, html)


def test_of_a_page_with_too_many_elements_the_beginning_is_read() -> None:
    root = etree.HTML("<p>one<p>two<table><tr><td>three<td>four</table>five")
    assert outline(root, most=5) == f"one\n\ntwo\n\n{CUT}"
    assert outline(root, most=99) == "one\n\ntwo\n\nthree | four\n\nfive"


PIECES = "<p> </p> <table> <tr> <td> </td> <ul> <li> <pre> </pre> <dl> <dd> <b> <h1> zz < &"


@given(st.lists(st.sampled_from(PIECES.split())))
def test_no_markup_breaks_the_reader(pieces: list[str]) -> None:
    html = "".join(pieces)
    assert text(html).count("z") == html.count("z")


@given(st.text(alphabet="ab \n", max_size=300), st.integers(5, 40))
def test_the_parts_of_a_page_together_are_its_text(said: str, chars: int) -> None:
    parts = Page(url=URL, title="", text=said).parts(chars)
    assert all(len(part.text) <= chars for part in parts)
    assert "".join("".join(part.text for part in parts).split()) == "".join(said.split())
    assert [(part.number, part.of) for part in parts] == [(number, len(parts)) for number in range(1, len(parts) + 1)]


def test_a_part_ends_where_a_paragraph_or_a_row_does() -> None:
    page = Page(url=URL, title="", text="a" * 30 + "\n\n" + "b" * 15 + "\n" + "c" * 30)
    assert [part.text for part in page.parts(50)] == ["a" * 30, "b" * 15 + "\n" + "c" * 30]


def test_plain_text_stays_as_it_is() -> None:
    page = read_text("http://a.example/notes/x.txt", "one\r\n  two\x07\n")
    assert (page.title, page.text) == ("x.txt", "one\n  two")
