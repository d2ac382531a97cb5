"""Title and logo of a report: what is no image, or an image that does more than draw, is refused before the scan."""

from __future__ import annotations

import base64
import struct
import zlib

import pytest
from click.testing import CliRunner
from report_factory import make_report
from test_render_html import Page

from porter.cli import main
from porter.errors import ConfigError
from porter.render import html, look

SVG = (
    b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 4"><defs><g id="a"/></defs>'
    b'<use href="#a"/><rect width="4" height="4" fill="#123"/></svg>'
)


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


PNG = (
    b"\x89PNG\r\n\x1a\n"
    + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    + chunk(b"IDAT", zlib.compress(b"\0\0"))
    + chunk(b"IEND", b"")
)


@pytest.mark.parametrize(
    ("data", "kind"), [(PNG, "png"), (SVG, "svg+xml"), (b"\xff\xd8\xff\xe0" + b"x" * 20 + b"\xff\xd9", "jpeg")], ids=["png", "svg", "jpeg"]
)
def test_an_image_becomes_a_data_uri(data, kind):
    uri = look.logo(data, "logo")
    assert uri == f"data:image/{kind};base64,{base64.b64encode(data).decode()}"
    page = Page(html.render(make_report(), look.Look("For <Acme> & sons", uri)))
    assert [attributes["src"] for tag, attributes in page.elements if tag == "img"] == [uri]
    assert "For <Acme> & sons" in page.text and "warp-tools" in page.text


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"GIF89a", "is no PNG, JPEG or SVG"),
        (PNG[:-4], "is no PNG, JPEG or SVG"),
        (b"", "is no PNG, JPEG or SVG"),
        (b"<html><script>alert(1)</script></html>", "is no SVG"),
        (SVG.replace(b"<rect", b"<script>alert(1)</script><rect"), "holds a <script> element"),
        (SVG.replace(b"<rect", b"<rect onload='alert(1)'"), "attribute onload"),
        (SVG.replace(b"#123", b"url(http://evil.example/x)"), "attribute fill"),
        (SVG.replace(b"<rect", b"<foreignObject/><rect"), "foreignobject"),
        (SVG.replace(b'href="#a"', b'href="http://evil.example/#a"'), "holds a link"),
        (SVG.replace(b"<rect", b"<style>@import 'http://evil.example';</style><rect"), "loads something"),
        (b"<!DOCTYPE svg [<!ENTITY a 'b'>]>" + SVG, "document type"),
        (b"<svg>" + b"x" * look.LOGO_LIMIT + b"</svg>", "KiB"),
    ],
)
def test_what_is_no_plain_image_is_refused(data, words):
    with pytest.raises(ConfigError, match=words):
        look.logo(data, "logo")


def test_the_command_dresses_redacts_and_writes_a_workbook(tmp_path):
    (tmp_path / "logo.svg").write_bytes(SVG)
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo/secretname.cu").write_text("#include <nvshmem.h>\n__global__ void k() {}\n")
    page, book = tmp_path / "r.html", tmp_path / "r.xlsx"
    words = ["scan", str(tmp_path / "repo"), "--jobs", "0", "--output", str(page), "--output", str(book), "--redact", "--verbose"]
    done = CliRunner().invoke(main, [*words, "--title", "Offer 7", "--logo", str(tmp_path / "logo.svg"), "--lang", "zh"])
    assert done.exit_code == 0, done.output
    text = page.read_text("utf-8")
    assert "Offer 7" in text and 'lang="zh-Hans"' in text and "data:image/svg+xml" in text and "secretname" not in text + done.output
    assert book.read_bytes()[:2] == b"PK"
    refused = CliRunner().invoke(main, [*words, "--logo", str(page)])
    assert refused.exit_code == 2 and "porter: r.html: " in refused.output
