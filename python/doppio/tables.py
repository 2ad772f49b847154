"""Tables of numbers: pandas frames where pandas is installed, and lists of dicts elsewhere."""
import html


def frame(rows):
    """Returns a pandas.DataFrame of `rows`, a list of dicts, or `rows` itself if pandas is not installed."""
    try:
        import pandas
    except ImportError:
        return rows
    return pandas.DataFrame(rows)


def html_table(titles, rows):
    """Returns an HTML table for notebooks. All cells are escaped."""
    def line(kind, cells):
        return "<tr>%s</tr>" % "".join("<%s>%s</%s>" % (kind, html.escape(str(cell)), kind) for cell in cells)
    return "<table><thead>%s</thead><tbody>%s</tbody></table>" % (
        line("th", titles), "".join(line("td", row) for row in rows))


def extents(shape):
    """Returns "64 x 3 x 32 x 32", or "scalar" for a shape without axes."""
    return " x ".join(str(extent) for extent in shape) or "scalar"
