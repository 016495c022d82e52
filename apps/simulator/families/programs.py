"""Small Python programs: for each task the right code and a version with one bug."""

from __future__ import annotations

import re
from dataclasses import dataclass

from apps.simulator.families.solution import Claim, Family, Solution


@dataclass(frozen=True, slots=True)
class Program:
    """One task with its code."""

    name: str
    words: str
    """A regular expression a question about the task matches."""
    plan: str
    code: str
    bug: tuple[str, str]
    """A piece of `code`, and what stands in its place in the wrong version."""
    flaw: str
    """What the bug does."""
    examples: tuple[tuple[str, str], ...]
    """Calls and their results."""
    recursive: str
    """The same function, which calls itself."""

    @property
    def wrong_code(self) -> str:
        """Return the code with the bug."""
        return self.code.replace(*self.bug, 1)


PROGRAMS = (
    Program(
        "fibonacci",
        r"\bfibonacci\b",
        "Keep two neighbours of the sequence and move them on n times.",
        "def fibonacci(n: int) -> int:\n"
        '    """Return the nth Fibonacci number; the 0th is 0."""\n'
        "    current, following = 0, 1\n"
        "    for _ in range(n):\n"
        "        current, following = following, current + following\n"
        "    return current",
        ("range(n)", "range(n - 1)"),
        "the loop ran once too little, so every result was one place early",
        (("fibonacci(0)", "0"), ("fibonacci(1)", "1"), ("fibonacci(10)", "55")),
        "def fibonacci(n: int) -> int:\n"
        '    """Return the nth Fibonacci number; the 0th is 0."""\n'
        "    if n < 2:\n"
        "        return n\n"
        "    return fibonacci(n - 1) + fibonacci(n - 2)",
    ),
    Program(
        "is_prime",
        r"\bprimes?\b",
        "Try divisors up to the square root; numbers below 2 are no primes.",
        "def is_prime(n: int) -> bool:\n"
        '    """Say whether n is a prime number."""\n'
        "    if n < 2:\n"
        "        return False\n"
        "    divisor = 2\n"
        "    while divisor * divisor <= n:\n"
        "        if n % divisor == 0:\n"
        "            return False\n"
        "        divisor += 1\n"
        "    return True",
        ("divisor * divisor <= n", "divisor * divisor < n"),
        "squares of primes such as 9 passed as primes",
        (("is_prime(2)", "True"), ("is_prime(9)", "False"), ("is_prime(97)", "True")),
        "def is_prime(n: int, divisor: int = 2) -> bool:\n"
        '    """Say whether n is a prime number."""\n'
        "    if n < 2:\n"
        "        return False\n"
        "    if divisor * divisor > n:\n"
        "        return True\n"
        "    return n % divisor != 0 and is_prime(n, divisor + 1)",
    ),
    Program(
        "gcd",
        r"\bgcd\b|\bgreatest common (?:divisor|factor)\b",
        "Replace the pair by the smaller number and the remainder until it is zero.",
        "def gcd(a: int, b: int) -> int:\n"
        '    """Return the greatest common divisor of a and b."""\n'
        "    while b:\n"
        "        a, b = b, a % b\n"
        "    return abs(a)",
        ("a % b", "a // b"),
        "it took the quotient in place of the remainder",
        (("gcd(12, 18)", "6"), ("gcd(7, 5)", "1"), ("gcd(0, 4)", "4")),
        "def gcd(a: int, b: int) -> int:\n"
        '    """Return the greatest common divisor of a and b."""\n'
        "    return gcd(b, a % b) if b else abs(a)",
    ),
    Program(
        "factorial",
        r"\bfactorial\b",
        "Multiply the numbers from 2 to n; the product of none is 1.",
        "def factorial(n: int) -> int:\n"
        '    """Return n!, the product of the whole numbers from 1 to n."""\n'
        "    if n < 0:\n"
        '        raise ValueError("n must not be negative")\n'
        "    product = 1\n"
        "    for factor in range(2, n + 1):\n"
        "        product *= factor\n"
        "    return product",
        ("range(2, n + 1)", "range(2, n)"),
        "the loop left out n itself",
        (("factorial(0)", "1"), ("factorial(1)", "1"), ("factorial(5)", "120")),
        "def factorial(n: int) -> int:\n"
        '    """Return n!, the product of the whole numbers from 1 to n."""\n'
        "    if n < 0:\n"
        '        raise ValueError("n must not be negative")\n'
        "    return 1 if n < 2 else n * factorial(n - 1)",
    ),
    Program(
        "fizzbuzz",
        r"\bfizz ?buzz\b",
        "Check multiples of 15 before those of 3 and of 5.",
        "def fizzbuzz(n: int) -> list[str]:\n"
        '    """Return the FizzBuzz lines from 1 to n."""\n'
        "    lines = []\n"
        "    for number in range(1, n + 1):\n"
        '        word = "Fizz" * (number % 3 == 0) + "Buzz" * (number % 5 == 0)\n'
        "        lines.append(word or str(number))\n"
        "    return lines",
        ("range(1, n + 1)", "range(1, n)"),
        "the last line was missing",
        (("fizzbuzz(3)", "['1', '2', 'Fizz']"), ("fizzbuzz(15)[-1]", "'FizzBuzz'")),
        "def fizzbuzz(n: int) -> list[str]:\n"
        '    """Return the FizzBuzz lines from 1 to n."""\n'
        "    if n < 1:\n"
        "        return []\n"
        '    word = "Fizz" * (n % 3 == 0) + "Buzz" * (n % 5 == 0)\n'
        "    return [*fizzbuzz(n - 1), word or str(n)]",
    ),
    Program(
        "is_palindrome",
        r"\bpalindromes?\b|\bpalindromic\b",
        "Keep letters and digits, fold the case, compare with the reverse.",
        "def is_palindrome(text: str) -> bool:\n"
        '    """Say whether text reads the same backwards, punctuation aside."""\n'
        "    kept = [c for c in text.casefold() if c.isalnum()]\n"
        "    return kept == kept[::-1]",
        ("text.casefold()", "text"),
        "upper and lower case letters did not match each other",
        (
            ("is_palindrome('Never odd or even')", "True"),
            ("is_palindrome('ab')", "False"),
        ),
        "def is_palindrome(text: str) -> bool:\n"
        '    """Say whether text reads the same backwards, punctuation aside."""\n'
        '    kept = "".join(c for c in text.casefold() if c.isalnum())\n'
        "    if len(kept) < 2:\n"
        "        return True\n"
        "    return kept[0] == kept[-1] and is_palindrome(kept[1:-1])",
    ),
    Program(
        "reverse_string",
        r"\brevers(?:e|es|ing|al)\b.*\b(?:string|text|word)s?\b"
        r"|\b(?:string|text|word)\b.*\brevers(?:e|ed)\b",
        "Read the string from its end with a slice.",
        "def reverse_string(text: str) -> str:\n"
        '    """Return text from its end to its start."""\n'
        "    return text[::-1]",
        ("text[::-1]", "text[-2::-1]"),
        "the last letter was lost",
        (("reverse_string('abc')", "'cba'"), ("reverse_string('')", "''")),
        "def reverse_string(text: str) -> str:\n"
        '    """Return text from its end to its start."""\n'
        '    return reverse_string(text[1:]) + text[0] if text else ""',
    ),
    Program(
        "count_vowels",
        r"\bvowels?\b",
        "Fold the case and count the characters that are vowels.",
        "def count_vowels(text: str) -> int:\n"
        '    """Return how many vowels text has."""\n'
        '    return sum(character in "aeiou" for character in text.casefold())',
        ("text.casefold()", "text"),
        "vowels in upper case were not counted",
        (("count_vowels('Apple')", "2"), ("count_vowels('rhythm')", "0")),
        "def count_vowels(text: str) -> int:\n"
        '    """Return how many vowels text has."""\n'
        "    if not text:\n"
        "        return 0\n"
        '    is_vowel = text[0].casefold() in "aeiou"\n'
        "    return is_vowel + count_vowels(text[1:])",
    ),
    Program(
        "binary_search",
        r"\bbinary search\b",
        "Halve the range that may hold the value until it is empty.",
        "def binary_search(values: list[int], wanted: int) -> int:\n"
        '    """Return the index of wanted in the sorted values, or -1."""\n'
        "    low, high = 0, len(values)\n"
        "    while low < high:\n"
        "        middle = (low + high) // 2\n"
        "        if values[middle] < wanted:\n"
        "            low = middle + 1\n"
        "        else:\n"
        "            high = middle\n"
        "    return low if low < len(values) and values[low] == wanted else -1",
        ("values[middle] < wanted", "values[middle] <= wanted"),
        "it stepped past the value it was looking for",
        (("binary_search([1, 3, 5], 5)", "2"), ("binary_search([1, 3], 2)", "-1")),
        "def binary_search(values: list[int], wanted: int, low: int = 0) -> int:\n"
        '    """Return the index of wanted in the sorted values, or -1."""\n'
        "    if not values:\n"
        "        return -1\n"
        "    middle = len(values) // 2\n"
        "    if values[middle] == wanted:\n"
        "        return low + middle\n"
        "    if values[middle] < wanted:\n"
        "        return binary_search(values[middle + 1 :], wanted, low + middle + 1)\n"
        "    return binary_search(values[:middle], wanted, low)",
    ),
    Program(
        "sum_of_digits",
        r"\b(?:sum|add)\b.*\bdigits\b",
        "Write the number as text and add its digits.",
        "def sum_of_digits(n: int) -> int:\n"
        '    """Return the sum of the decimal digits of n."""\n'
        "    return sum(int(digit) for digit in str(abs(n)))",
        ("str(abs(n))", "str(n)[1:]"),
        "the first digit was skipped",
        (("sum_of_digits(482)", "14"), ("sum_of_digits(-7)", "7")),
        "def sum_of_digits(n: int) -> int:\n"
        '    """Return the sum of the decimal digits of n."""\n'
        "    n = abs(n)\n"
        "    return n if n < 10 else n % 10 + sum_of_digits(n // 10)",
    ),
)
ASKS_FOR_CODE = re.compile(
    r"\b(?:python|function|program|code|script|implement|algorithm|method)\b",
    re.IGNORECASE,
)


def solve(text: str) -> Solution | None:
    """Return the program `text` asks for, if it is a known one."""
    program = find(text)
    if program is None:
        return None
    claims = (_claim(program, program.code), _claim(program, program.wrong_code))
    return Solution(Family.CODE, claims[0], claims[1:])


def find(text: str) -> Program | None:
    """Return the known task `text` is about, if it asks for code at all."""
    if not ASKS_FOR_CODE.search(text):
        return None
    for program in PROGRAMS:
        if re.search(program.words, text, re.IGNORECASE | re.DOTALL):
            return program
    return None


def _claim(program: Program, code: str) -> Claim:
    rows = "\n".join(f"| `{call}` | `{result}` |" for call, result in program.examples)
    return Claim(code, f"{program.plan}\n\n| Call | Result |\n|---|---|\n{rows}")
