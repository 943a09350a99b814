from __future__ import annotations

import pytest

from pyspark_zkgroup.security.jaas import parse

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('required username="alice" password="a b";', {"username": "alice", "password": "a b"}),
        ("required username='alice' password=\"\";", {"username": "alice", "password": ""}),
        ("required useTicketCache=true keyTab=/a;", None),
        ("Required a=1;", {"a": "1"}),
        ("optional;", {}),
        (r'required a="x\"y\\z\t\101\7" b=c;', {"a": 'x"y\\z\tA\x07', "b": "c"}),
        ('required // why\n /* how\n "*/ a = "1"\n;  ', {"a": "1"}),
        ('required a="//no comment; none";', {"a": "//no comment; none"}),
        ("required user_name-x.y$z=v;", {"user_name-x.y$z": "v"}),
        ('required a="ünï=;\'";', {"a": "ünï=;'"}),
    ],
)
def test_a_login_module_and_its_options(text: str, options: dict[str, str] | None) -> None:
    if options is None:
        with pytest.raises(ValueError, match="needs quotes around it"):
            parse(f"{PLAIN} {text}")
        return
    module = parse(f"{PLAIN} {text}")
    assert (module.name, module.short_name) == (PLAIN, "PlainLoginModule")
    assert module.options == options


def test_classes_that_a_platform_has_moved_are_known() -> None:
    assert parse(f"kafkashaded.{PLAIN} required;").name == PLAIN


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "names no login module"),
        (" ;", "names no login module"),
        ("Module", "does not say 'required' behind the login module (at character 7)"),
        ("Module a=b;", "does not say 'required' behind the login module (at character 8)"),
        ("Module required a=b", "does not end with a semicolon (at character 20)"),
        ("Module required a;", "has an option without a value (at character 17)"),
        ("Module required a=;", "has an option without a value (at character 17)"),
        ("Module required a b;", "has an option without a value (at character 17)"),
        ("Module required a=b a=c;", "gives an option twice (at character 21)"),
        (
            "Module required; Module required;",
            "continues after its semicolon (at character 18); one login module",
        ),
        (
            'Module required a="b;',
            "has a quote that is not closed on its line (at character 19)",
        ),
        (
            "Module required a=p@ss;",
            "has a character that needs quotes around it (at character 20)",
        ),
    ],
)
def test_errors_name_their_place(text: str, reason: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse(text)
    assert f"{caught.value}" == reason


def test_nothing_of_the_options_is_shown() -> None:
    module = parse('Module required password="hunter2";')
    assert "hunter2" not in repr(module)
