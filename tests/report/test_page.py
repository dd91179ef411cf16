"""The page: names are data, nothing comes from elsewhere, and it stays small."""

import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from ovplace.report.collect import report_of
from ovplace.report.page import asset, html, libraries
from ovplace.testing.graphs import layered
from ovplace.testing.reports import evidence
from ovplace.testing.results import run_result

EVIL = '</script><script>alert(1)</script><img src=x onerror="alert(2)"><!--'


class Tags(HTMLParser):
    """Collects the tags with their attributes, and the text of scripts."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append((self.tags[-1][0] if self.tags else "", data))

    def of(self, name):
        return [attributes for tag, attributes in self.tags if tag == name]


def data_of(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


@pytest.fixture(scope="module")
def plain():
    return html(report_of(evidence(environment=replace(run_result().environment, command="ovplace optimize"))))


@pytest.fixture(scope="module")
def evil():
    graph = layered(80, seed=1)
    names = (EVIL, *graph.names[1:])
    types = (EVIL, *graph.types[1:])
    of = evidence(replace(graph, names=names, types=types), note=EVIL)
    environment = replace(of.result.environment, command=EVIL, cpu=EVIL)
    result = replace(of.result, environment=environment, model=replace(of.result.model, path=f"{EVIL}.xml"))
    return html(report_of(replace(of, run=replace(of.run, result=result))))


def test_names_add_no_tag(plain, evil):
    assert [tag for tag, _ in Tags(evil).tags] == [tag for tag, _ in Tags(plain).tags]
    assert data_of(evil)["graph"]["ops"]["name"][0] == EVIL


def test_only_the_scripts_of_the_page_may_run(plain):
    policy = next(of["content"] for of in Tags(plain).of("meta") if of.get("http-equiv") == "Content-Security-Policy")
    scripts = re.findall(r"<script>(.*?)</script>", plain, re.DOTALL)
    assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]
    assert policy.count("sha256-") == len(scripts)


def test_nothing_comes_from_elsewhere(plain):
    loading = ("src", "href", "action", "data", "poster", "srcset")
    found = [of[name] for _, of in Tags(plain).tags for name in loading if of.get(name)]
    assert [address for address in found if not address.startswith(("#", "data:"))] == []
    assert "@import" not in plain
    assert "sourceMappingURL" not in plain


def test_ten_thousand_operations_stay_below_three_megabytes():
    assert len(html(report_of(evidence(layered(10_000, seed=0)))).encode()) < 3_000_000


@pytest.mark.parametrize("library", libraries(), ids=lambda library: library.name)
def test_libraries_are_the_released_files(library):
    text = asset(f"vendor/{library.file}")
    assert hashlib.sha256(text.encode()).hexdigest() == library.sha256
    assert library.version in library.source
    assert "ermission" in asset(f"vendor/{library.licence_file}")
