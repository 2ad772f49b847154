"""The base class of tests of `doppio data`."""
import json

from tool_case import ToolCase, png


class DataCase(ToolCase):
    def folder_of_classes(self):
        """Writes two cat images of one row of pixels each, and a dog in a deeper folder."""
        self.write("pets/cat/b.png", png([[(0, 0, 10), (0, 0, 30)]]))
        self.write("pets/cat/a.PNG", png([[(0, 0, 20), (0, 0, 20)]]))
        self.write("pets/cat/notes.txt", "not an image")
        self.write("pets/dog/big/c.png", png([[(0, 200, 0), (0, 200, 0)]]))

    def json(self, *args):
        return json.loads(self.succeed("data", *args, "--json"))

    def stat(self, path):
        return self.json("stat", path)
