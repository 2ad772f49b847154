#!/usr/bin/env python3
"""Tests that each link between documents names an existing file and an existing heading in it."""
import os
import re
import unittest

ROOT = os.getcwd()
# Targets of links that the test does not check: URLs and folders.
UNSEEN = re.compile(r"[a-z]+:|.*/$")


def pages():
    yield from ("README.md", "CONTRIBUTING.md")
    for part in ("docs", "models"):
        for folder, _, files in os.walk(os.path.join(ROOT, part), followlinks=True):
            for name in sorted(files):
                if name.endswith(".md"):
                    yield os.path.relpath(os.path.join(folder, name), ROOT)


def without_code(text):
    text = re.sub(r"(?ms)^ *```.*?^ *```", "", text)
    return re.sub(r"(?m)^    .*$", "", text)


def addresses(text):
    """Returns the anchors of all headings as GitHub makes them: in lower case, without punctuation, numbered if repeated."""
    found = set()
    for heading in re.findall(r"(?m)^#+ +(.*?)\s*$", without_code(text)):
        address = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        count = 0
        while address + ("-%d" % count if count else "") in found:
            count += 1
        found.add(address + ("-%d" % count if count else ""))
    return found


def read(page):
    with open(os.path.join(ROOT, page), encoding="utf-8") as f:
        return f.read()


def broken(page):
    for target in re.findall(r"!?\[[^\]]*\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", without_code(read(page)))):
        if UNSEEN.match(target):
            continue
        path, _, heading = target.partition("#")
        file = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if not os.path.exists(os.path.join(ROOT, file)):
            yield "%s: %s is not there" % (page, target)
        elif heading and file.endswith(".md") and heading not in addresses(read(file)):
            yield "%s: %s has no such heading" % (page, target)


class LinksTest(unittest.TestCase):
    def test_finds_the_pages(self):
        self.assertGreater(len(list(pages())), 15)
        self.assertIn("docs/ko/start.md", list(pages()))
        self.assertIn("models/lenet/README.md", list(pages()))

    def test_links_lead_to_files_and_headings(self):
        self.assertEqual([], [link for page in pages() for link in broken(page)])

    def test_every_page_is_in_the_index(self):
        index = read("docs/README.md")
        missing = [p for p in pages() if p.startswith("docs/") and "(%s)" % p[len("docs/"):] not in index]
        self.assertEqual(["docs/README.md"], missing)

    def test_translations_have_the_parts_of_their_originals(self):
        """Expects the same numbers of headings, table rows and list items, and the same code."""
        def parts(text):
            return {mark: len(re.findall(r"(?m)^%s" % mark, without_code(text))) for mark in (r"#+ ", r"\| ", r"\* ")}

        def code(text):
            return re.findall(r"(?m)^    .*$", text)

        translated = [page for page in pages() if page.startswith("docs/ko/")]
        self.assertGreater(len(translated), 1)
        for page in translated:
            original = read(page.replace("docs/ko/", "docs/"))
            self.assertEqual(parts(original), parts(read(page)), page)
            self.assertEqual(code(original), code(read(page)), page)

    def test_translations_name_what_their_originals_name(self):
        """Expects the same flags, environment variables and code, and links to sections of the translation itself."""
        def names(text):
            return set(re.findall(r"`[^`\n]+`|(?<![A-Z_])[A-Z][A-Z0-9]*_[A-Z0-9_]+|--[a-z][a-z_]+", without_code(text)))

        for page in pages():
            if not page.startswith("docs/ko/"):
                continue
            text, original = read(page), page.replace("docs/ko/", "docs/")
            self.assertEqual(names(read(original)), names(text), page)
            own = [target for target in re.findall(r"\]\(([^)\s]+)\)", text) if target.startswith("../" + os.path.basename(page))]
            self.assertEqual([], own, page)

    def test_headings_have_github_s_addresses(self):
        self.assertEqual({"a-b", "--set-and---unset", "a-b-1", "rnn-and-lstm", "rows_param"},
                         addresses("# A b\n## `--set` and `--unset`\n# A, b!\n### RNN and LSTM\n# rows_param\n```sh\n# no\n```\n"))


if __name__ == "__main__":
    unittest.main()
