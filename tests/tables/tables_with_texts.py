"""Corpora of a few tables, as Wikipedia's tables with passages and as CSV files."""

import json

CITIES = ("Leeds", "York", "Bath", "Ripon", "Wells", "Truro")
TEAMS = ("Lions", "Tigers", "Bears", "Wolves", "Hawks", "Foxes")


def write_wikipedia(folder, tables=6):
    """Tables of six teams; each is told of in a passage, with its city, and one in the introduction."""
    (folder / "tables_tok").mkdir(parents=True)
    (folder / "request_tok").mkdir()
    for number in range(tables):
        cities = [*CITIES[number % 6 :], *CITIES[: number % 6]]
        rows = [
            [[team, [f"/wiki/{team}"]], [city, [f"/wiki/{city}"]], [str(10 * number + place), []]]
            for place, (team, city) in enumerate(zip(TEAMS, cities, strict=True), start=2)
        ]
        passages = {
            f"/wiki/{team}": f"It is known to all that the {team} are of {city} ."
            for team, city in zip(TEAMS, cities, strict=True)
        }
        table = {
            "title": f"League {number}",
            "section_title": "Teams",
            "section_text": "",
            "intro": f"In this season the {TEAMS[0]} from {cities[0]} won every game .",
            "header": [["Team", []], ["City", []], ["Points", []]],
            "data": rows,
        }
        (folder / "tables_tok" / f"league_{number}.json").write_text(json.dumps(table))
        (folder / "request_tok" / f"league_{number}.json").write_text(json.dumps(passages))
    return folder


def write_csv(folder, tables=4):
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(tables):
        lines = ["town,people", *(f"{city},{100 * number + 7 * place}" for place, city in enumerate(CITIES))]
        (folder / f"towns {number}.csv").write_text("\n".join(lines))
    return folder
