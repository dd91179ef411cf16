"""On 80 columns, lines fit and words stay whole; where nobody looks at a terminal, lines are as long as they are."""

import pytest

COMMANDS = (
    "placers --all",
    "devices",
    "config show",
    "models list",
    "cache",
    "bound a-folder-that-is-not-there-and-has-a-long-name",
)


def words(text):
    return {word for word in text.split() if set(word) - {"-", "#"}}


@pytest.mark.parametrize("command", COMMANDS)
def test_lines_fit_and_words_are_whole(ovplace, monkeypatch, command):
    wide = ovplace(*command.split())
    monkeypatch.setenv("COLUMNS", "80")
    narrow = ovplace(*command.split())
    assert max(map(len, (narrow.out + narrow.err).splitlines())) <= 80
    assert words(narrow.out) == words(wide.out)
    assert words(narrow.err) == words(wide.err)


def test_an_error_is_one_line_for_programs(ovplace, tmp_path):
    done = ovplace("show", tmp_path / ("x" * 100))
    assert len(done.err.splitlines()) == 1
    assert len(done.err) > 100
