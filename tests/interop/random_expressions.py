"""Expressions of all the parts java.util.regex has, put together at random."""

from __future__ import annotations

from random import Random

NAMES = [
    *("a", "b", "ab", "aab", "abab", "aba", "A", "aB", "a-b", "a.b", "a_b", "b1", "1", "a12", "_"),
    *("-", ".a", "abcabc", "aaaa", "abba", "wl.one", "Zed", "bbab", "ba", "bba", "k", "S", "I"),
]
PIECES = [
    *"aab1bA.-_()()|*+?{}2[]^$\\&&",
    *(
        "(?:",
        "(?i)",
        "(?=",
        "(?!",
        "(?>",
        "(?<=",
        "(?<!",
        "(?<n>",
        "(?i:",
        "(?-i)",
        "(?x)",
        "(?iu)",
    ),
    *("(?U)", "(?m)", r"\d", r"\w", r"\b", r"\B", r"\W", r"\1", r"\2", r"\k<n>", r"\p{Lower}"),
    *(r"\P{L}", r"\pL", r"\Q", r"\E", "[a-z", "&&[", "[^", r"\.", "{2}", "{0}", "++", "*?", r"\h"),
    *(r"\z", r"\Z", r"\A", r"\G", r"\x61", r"\u0061", r"\0141", r"\cA", r"\R", r"\X", r"\b{g}"),
    *(
        "#",
        "\n",
        "\t",
        r"\p{IsAlphabetic}",
        r"\p{Punct}",
        "\u212a",
        "\u017f",
        "é",
        "~~",
        "--",
        "||",
    ),
    *(r"\e", r"\v", r"\H", r"\D", r"\/", r"\_", r"\-", r"\p{javaLowerCase}", r"\p{sc=Latin}"),
    *(r"\p{gc=Lu}", r"\p{Upper}", r"\p{L1}", r"\N{DIGIT ONE}", '"', "'", r"\x{61}"),
]


def random_expression(random: Random) -> str:
    kind = random.random()
    if kind < 0.4:
        return "".join(random.choice(PIECES) for _ in range(random.randint(1, 9)))
    return _class(random, 0) if kind < 0.6 else _tree(random, 4)


def _class(random: Random, depth: int) -> str:
    text = "[^" if random.random() < 0.3 else "["
    for _ in range(random.randint(1, 4)):
        kind = random.random()
        if kind < 0.35:
            text += random.choice("ab1A_-.&]")
        elif kind < 0.55:
            text += random.choice(["a-b", "A-Z", "a-z", "0-9", "+-9", "_-a", "Z-a"])
        elif kind < 0.65:
            text += random.choice([r"\d", r"\w", r"\W", r"\p{Lower}", r"\s", r"\-", r"\.", r"\v"])
        elif kind < 0.8 and depth < 2:
            text += _class(random, depth + 1)
        else:
            text += "&&" if kind < 0.95 else "&"
    return text + "]"


def _tree(random: Random, depth: int) -> str:
    kind = random.random()
    if depth == 0 or kind < 0.25:
        leaves = ["a", "b", ".", "A", "1", r"\w", r"\d", "[ab]", "[^a]", r"\.", "-", "_"]
        return random.choice(leaves) if random.random() < 0.9 else _class(random, 0)
    inner = _tree(random, depth - 1)
    if kind < 0.5:
        return inner + "".join(_tree(random, depth - 1) for _ in range(random.randint(0, 2)))
    if kind < 0.62:
        return random.choice(["(?:", "(", "(?i:", f"(?<n{random.randint(1, 99)}>"]) + inner + ")"
    if kind < 0.72:
        other = _tree(random, depth - 1) if random.random() < 0.9 else ""
        return f"(?:{inner}|{other})"
    if kind < 0.92:
        count = random.choice(["*", "+", "?", "{2}", "{0}", "{1}", "{3}"])
        greed = random.choice(["", "", "?", "+"])
        return random.choice(["(?:", "(", "(?>"]) + inner + ")" + count + greed
    if kind < 0.95:
        return random.choice(["(?=", "(?!", "(?<=", "(?<!", "(?>"]) + inner + ")"
    return random.choice([r"\b", r"\B", "^", "$", "(?i)", "(?-i)", r"\1", r"\2", r"\11"])
