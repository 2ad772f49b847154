#!/usr/bin/env python3
"""The help pages of commands and verbs."""
import tool_case


class ExitCodesTest(tool_case.ToolCase):
    def test_have_a_page_of_their_own(self):
        for word in ("exit-codes",):
            page = self.succeed("help", word)
            self.assertRegex(page, r"(?m)^   75  stopped by a signal")
            self.assertRegex(page, r"(?m)^  143  ")

    def test_other_pages_name_it_in_one_line(self):
        for words in ((), ("train",), ("data",)):
            page = self.succeed("help", *words)
            self.assertEqual(1, page.count("doppio help exit-codes"), words)
            self.assertNotRegex(page, r"(?m)^   75  ")


if __name__ == "__main__":
    tool_case.main()
