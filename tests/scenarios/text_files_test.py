#!/usr/bin/env python3
"""Tests that every kind of text file that commands read may come from any editor and system: with a byte order mark,
with the line ends of Windows, with blanks at the ends of lines, with any letters, and without a last line end."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import junit  # noqa: E402
import scenario  # noqa: E402

MARK = "\ufeff"
LAYER = 'layer { name: "é" type: "%s" top: "data" top: "label" %s }\n'
IMAGES = 'image_data_param { source: "list" root_folder: "bilder/" batch_size: 1 }'
WINDOWS = ('window_data_param { source: "list" root_folder: "bilder/" batch_size: 1 fg_fraction: 1 } '
           'transform_param { crop_size: 2 }')
ROI = ('layer { name: "d" type: "RoiData" top: "data" top: "im_info" top: "gt_boxes" '
       'roi_data_param { source: "list" root_folder: "bilder/" %s } }\n')
XML = """<annotation>
<object><name>dog</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></object>
</annotation>"""
COCO = {"images": [{"id": 1, "file_name": "é.png"}], "categories": [{"id": 1, "name": "Hündin"}],
        "annotations": [{"image_id": 1, "category_id": 1, "bbox": [0, 0, 2, 2]}]}
NET = LAYER % ("ImageData", IMAGES)
OTHER_LIST = NET.replace('"list"', '"other_list"')
CHECK = ("check", "net.prototxt")
PAIR = ["é.png 0", "my é.png 1"]
FOLDER = "--root_folder=bilder/"

# Name, the file that comes from an editor, its lines, the net, and the command line.
ROWS = [
    ("image_list", "list", PAIR, NET, CHECK),
    ("labels_beside_the_list", "labels.txt", ["Hündin", "cat"], OTHER_LIST, CHECK),
    ("segmentation_list", "list", ["é.png é.png", "my é.png\tmy é.png"], LAYER % ("ImageSegData", IMAGES), CHECK),
    ("window_file", "list", ["# 0", "my é.png", "3 2 2 1", "1 0.9 0 0 1 1"], LAYER % ("WindowData", WINDOWS),
     ("time", "--model=net.prototxt", "--iterations=1")),
    ("voc_list", "list", ["é.png é.xml", "my é.png é.xml"], ROI % "", CHECK),
    ("voc_annotation", "bilder/é.xml", XML.splitlines(), ROI % "", CHECK),
    ("coco_file", "list", json.dumps(COCO, indent=1, ensure_ascii=False).splitlines(), ROI % "format: COCO", CHECK),
    ("net", "net.prototxt", OTHER_LIST.replace(" top", "\ntop").splitlines(), "", CHECK),
    ("solver", "list", ["# é", 'net: "net.prototxt"', 'base_lr: 0.1 lr_policy: "fixed"', "max_iter: 1"], OTHER_LIST,
     ("check", "list")),
    ("flag_file", "list", ["# é", "--model=net.prototxt"], OTHER_LIST, ("check", "--flagfile=list")),
    ("verified_list", "list", PAIR, NET, ("data", "verify", FOLDER, "list")),
    ("measured_list", "list", PAIR, NET, ("data", "stat", FOLDER, "list")),
    ("split_list", "list", PAIR, NET, ("data", "split", "list", "parts", "--fractions=0.5,0.5")),
    ("converted_list", "list", PAIR, NET, ("data", "convert", FOLDER, "list", "db")),
    ("convert_imageset", "list", PAIR, NET, ("convert_imageset", "bilder/", "list", "db")),
    ("init", "list", PAIR * 5, NET, ("init", FOLDER, "list", "project")),
]


class TextFiles(scenario.Scenario):
    def run_row(self, row, content):
        name, file, _, net, argv = row
        self.setUp()  # a new folder
        gray = "segmentation" in name
        for image in ("é.png", "my é.png"):
            self.write("bilder/" + image, scenario.png([[9 if gray else (9, 9, 9)] * 2] * 2))
        self.write("bilder/é.xml", XML)
        self.write("list", "é.png é.xml\n")
        self.write("other_list", "é.png 0\n")
        self.write("net.prototxt", net)
        self.write(file, content)
        run = self.doppio(*argv)
        return run.returncode, run.stdout + run.stderr

    def test_utf_16_is_named(self):
        for row in ROWS:
            if row[0] == "voc_annotation":  # XML may be in UTF-16
                continue
            _, text = self.run_row(row, "\n".join(row[2]).encode("utf-16"))
            self.assertIn("UTF-16", text, row[0])


def add(row):
    def test(self):
        starts = [""] if row[0] in ("labels_beside_the_list", "voc_annotation") else ["", "\n"]
        for start, end, last in [(MARK, "\n", True), (MARK, "\r\n", False), ("", " \t\r\n", True)] + [
                (start, "\n", False) for start in starts]:
            code, text = self.run_row(row, start + end.join(row[2]) + (end if last else ""))
            self.assertEqual(0, code, repr((start, end, last)) + text)
    setattr(TextFiles, "test_%s_from_any_editor" % row[0], test)


for each in ROWS:
    add(each)

if __name__ == "__main__":
    junit.main()
