"""The domains of the sample's tables: columns, facts and wordings."""

from __future__ import annotations

from mate_cli.tables.sample.grammar import Column, Domain, Fact, person_facts

DOMAINS: tuple[Domain, ...] = (
    Domain(
        "mountains",
        Column(
            ("Mountain", "Peak", "Summit"),
            "mountain",
            noun="mountain",
            facts=(
                Fact(
                    "person",
                    ("The first ascent was made by {v} .", "{v} reached the top of {e} before anyone else ."),
                    ("Who was the first to climb {x} ?", "Which climber conquered {x} first ?"),
                    ("{v} climbed first", "was conquered by {v}"),
                ),
                Fact(
                    "place",
                    ("The usual route starts in {v} .", "Hikers set out for {e} from the village of {v} ."),
                    ("Where does the walk up {x} begin ?", "From which village do people climb {x} ?"),
                    ("people climb from {v}", "is usually approached from {v}"),
                ),
            ),
        ),
        (
            Column(
                ("Nearest town", "Town"),
                "place",
                ("Which town lies closest to {x} ?", "What is the nearest town to {x} ?"),
                ("lies close to {v}", "rises near {v}"),
                "town",
                (
                    Fact(
                        "person",
                        ("{e} was founded by {v} .", "{v} laid the first stone of {e} ."),
                        ("Who established {x} ?", "Who is the founder of {x} ?"),
                        ("owes its foundation to {v}", "was established by {v}"),
                    ),
                    Fact(
                        "festival",
                        ("Every summer {e} holds the {v} .", "Guests come to {e} for the {v} ."),
                        ("Which yearly event takes place in {x} ?", "Which feast is celebrated in {x} ?"),
                        ("celebrates the {v}", "is home to the {v}"),
                    ),
                ),
            ),
            Column(
                ("Range", "Mountain range"),
                "range",
                ("To which range does {x} belong ?", "Of which chain is {x} a part ?"),
                ("is part of the {v}", "belongs to the {v}"),
            ),
            Column(
                ("Elevation ( m )", "Height ( m )"),
                "height",
                ("How high is {x} ?", "How many metres does {x} measure ?"),
                ("is {v} metres high", "measures {v} metres"),
            ),
            Column(
                ("Rock",),
                "rock",
                ("Which stone is {x} made of ?", "What kind of rock forms {x} ?"),
                ("consists of {v}",),
            ),
        ),
    ),
    Domain(
        "films",
        Column(
            ("Film", "Title", "Movie"),
            "title",
            noun="film",
            facts=(
                Fact(
                    "place",
                    ("Most scenes of {e} were shot in {v} .", "The crew filmed in {v} for ten weeks ."),
                    ("Where did the shooting of {x} take place ?", "At which location was {x} made ?"),
                    ("was made on location in {v}", "used {v} as its location"),
                ),
                Fact(
                    "person",
                    ("The story of {e} is based on a novel by {v} .", "{e} adapts a book by {v} ."),
                    ("Which writer inspired {x} ?", "Who wrote the source of {x} ?"),
                    ("goes back to a text of the writer {v}", "was inspired by the writer {v}"),
                ),
            ),
        ),
        (
            Column(
                ("Director", "Directed by"),
                "person",
                ("Who directed {x} ?", "Who stood behind the camera of {x} ?"),
                ("was directed by {v}", "{v} directed"),
                "director",
                person_facts("learned the craft", "old cinemas"),
            ),
            Column(
                ("Music", "Soundtrack"),
                "person",
                ("Who wrote the music of {x} ?", "Who composed the soundtrack of {x} ?"),
                ("has music by {v}", "{v} wrote the soundtrack of"),
            ),
            Column(
                ("Year", "Released"),
                "film_year",
                ("When did {x} reach the cinemas ?", "In which year was {x} released ?"),
                ("came out in {v}", "was released in {v}"),
            ),
            Column(
                ("Genre",),
                "film_genre",
                ("What genre is {x} ?", "To which genre does {x} belong ?"),
                ("is a {v}",),
            ),
        ),
    ),
    Domain(
        "composers",
        Column(
            ("Composer", "Name"),
            "person",
            noun="composer",
            facts=(
                Fact(
                    "place",
                    ("{e} is buried in {v} .", "The grave of {e} can be seen in {v} ."),
                    ("Where is the last resting place of {x} ?", "Where was {x} laid to rest ?"),
                    ("was laid to rest in {v}", "rests in {v}"),
                ),
                Fact(
                    "person",
                    ("{e} married {v} after a long engagement .", "{v} became the spouse of {e} ."),
                    ("Who was the partner in life of {x} ?", "With whom did {x} share a home ?"),
                    ("shared a home with {v}", "{v} shared a home with"),
                ),
            ),
        ),
        (
            Column(
                ("Best-known work", "Opera"),
                "title",
                ("What is the most famous work of {x} ?", "Which opera made {x} famous ?"),
                ("wrote {v}", "became famous with {v}"),
                "opera",
                (
                    Fact(
                        "place",
                        ("{e} had its premiere in {v} .", "The audience of {v} saw {e} first ."),
                        ("Where was {x} performed for the first time ?", "Which city staged {x} first ?"),
                        ("was first performed in {v}", "was first staged in {v}"),
                    ),
                    Fact(
                        "person",
                        ("The words of {e} were written by {v} .", "{v} wrote the verses of {e} ."),
                        ("Who is the librettist of {x} ?", "Who was responsible for the text of {x} ?"),
                        ("has a libretto by {v}", "uses a text of {v}"),
                    ),
                ),
            ),
            Column(
                ("Birthplace", "Born in"),
                "place",
                ("What is the birthplace of {x} ?", "Where was {x} born ?"),
                ("came from {v}", "was born in {v}"),
            ),
            Column(
                ("Born", "Year of birth"),
                "year",
                ("When was {x} born ?", "What is the year of birth of {x} ?"),
                ("was born in {v}", "came into the world in {v}"),
            ),
            Column(
                ("Instrument",),
                "instrument",
                ("Which instrument did {x} play ?", "What instrument was {x} trained on ?"),
                ("played the {v}",),
            ),
        ),
    ),
)
