"""The comparison as text, and as a bar chart."""

from html import escape
from statistics import median

COLUMNS = f"{'':<44}{'images/s':>9}{'spread':>15}{'headrace is':>13}{'of limit':>10}" \
          f"{'CPU s/1000':>12}{'peak MiB':>10}{'first batch s':>15}"


def table(rows, reference, limit):
    """Lines; `reference` and `limit` are names of rows."""
    rates = {row["name"]: median(row["rates"]) for row in rows if "rates" in row}
    lines = [COLUMNS]
    for row in rows:
        name = row["name"]
        if "rates" not in row:
            lines.append(f"{name:<44}  not run: {row['absent']}")
            continue
        spread = f"{min(row['rates']):.0f}-{max(row['rates']):.0f}"
        ours = f"{rates[reference] / rates[name]:.2f} x" if reference in rates else "-"
        of_limit = f"{rates[name] / rates[limit]:.3f}" if limit in rates else "-"
        lines.append(f"{name:<44}{rates[name]:>9.0f}{spread:>15}{ours:>13}{of_limit:>10}"
                     f"{1000 * median(row['cpu']):>12.3f}{row['peak_mib']:>10.0f}"
                     f"{row['first_s']:>15.2f}")
    return lines


def chart(rows, title, note):
    """An SVG: one bar a contender, longest first."""
    bars = sorted(((median(row["rates"]), row) for row in rows if "rates" in row),
                  key=lambda bar: -bar[0])
    left, width, height = 300, 420, 26
    colours = {"headrace": "#1f6f8b", "limit": "#8a8f98", "peer": "#c8a25a"}
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 90}" '
           f'height="{60 + height * len(bars) + 30}" font-family="sans-serif" font-size="13">',
           '<rect width="100%" height="100%" fill="#ffffff"/>',
           f'<text x="12" y="26" font-size="15" font-weight="bold">{escape(title)}</text>']
    for i, (rate, row) in enumerate(bars):
        y = 44 + i * height
        length = width * rate / bars[0][0]
        out.append(f'<text x="{left - 8}" y="{y + 16}" text-anchor="end">{escape(row["name"])}</text>'
                   f'<rect x="{left}" y="{y + 3}" width="{length:.1f}" height="18" '
                   f'fill="{colours[row["kind"]]}"/>'
                   f'<text x="{left + length + 6:.1f}" y="{y + 16}">{rate:,.0f}</text>')
    out.append(f'<text x="12" y="{60 + height * len(bars) + 14}" font-size="11" fill="#555555">'
               f'{escape(note)}</text></svg>')
    return "\n".join(out) + "\n"
