"""What the sample's tables are about."""

from __future__ import annotations

from mate_cli.tables.sample.grammar import Column, Domain, Fact, person_facts

DOMAINS: tuple[Domain, ...] = (
    Domain(
        "mountains",
        Column(
            ("Mountain", "Peak", "Summit"),
            "mountain",
            (),
            (),
            "mountain",
            (
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
            (),
            (),
            "film",
            (
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
        "football clubs",
        Column(
            ("Club", "Team"),
            "club",
            (),
            (),
            "club",
            (
                Fact(
                    "person",
                    ("{e} was founded by {v} and some friends .", "It was {v} who called {e} into being ."),
                    ("Who established {x} ?", "Who is the founder of {x} ?"),
                    ("{v} established", "owes its foundation to {v}"),
                ),
                Fact(
                    "club_nickname",
                    ("Supporters call {e} the {v} .", "The players are known as the {v} ."),
                    ("What is the nickname of {x} ?", "What do fans call {x} ?"),
                    ("is nicknamed the {v}", "has the nickname {v}"),
                ),
            ),
        ),
        (
            Column(
                ("Stadium", "Ground"),
                "stadium",
                ("Where does {x} play its home matches ?", "What is the home ground of {x} ?"),
                ("plays at {v}", "has its home at {v}"),
                "stadium",
                (
                    Fact(
                        "person",
                        ("The stands of {e} were designed by {v} .", "{v} drew the plans for {e} ."),
                        ("Who was the architect of {x} ?", "Which architect is behind {x} ?"),
                        ("was the work of the architect {v}", "had {v} as architect"),
                    ),
                    Fact(
                        "place",
                        ("{e} lies in the district of {v} .", "One finds {e} in the suburb of {v} ."),
                        ("In which part of the city is {x} ?", "Which quarter houses {x} ?"),
                        ("is located in {v}", "stands in {v}"),
                    ),
                ),
            ),
            Column(
                ("Manager", "Head coach"),
                "person",
                ("Who trains {x} ?", "Who is the coach of {x} ?"),
                ("{v} trains", "is coached by {v}"),
            ),
            Column(
                ("Founded", "Formed"),
                "year",
                ("When was {x} set up ?", "In which year did {x} come into being ?"),
                ("has existed since {v}", "was set up in {v}"),
            ),
            Column(
                ("Colours",),
                "colours",
                ("Which colours does {x} wear ?", "What are the colours of {x} ?"),
                ("plays in {v}",),
            ),
        ),
    ),
    Domain(
        "ships",
        Column(
            ("Ship", "Vessel"),
            "ship",
            (),
            (),
            "ship",
            (
                Fact(
                    "place",
                    ("{e} was built at the yard of {v} .", "The keel of {e} was laid down in {v} ."),
                    ("Where was {x} constructed ?", "In which town did workers construct {x} ?"),
                    ("was constructed in {v}", "workers constructed in {v}"),
                ),
                Fact(
                    "person",
                    ("{e} carried the expedition of {v} .", "On board of {e} , {v} explored the far north ."),
                    ("Which explorer travelled on {x} ?", "Whose voyage of discovery used {x} ?"),
                    ("took the explorer {v} to sea", "the explorer {v} travelled on"),
                ),
            ),
        ),
        (
            Column(
                ("Captain", "Commander"),
                "person",
                ("Who was in command of {x} ?", "Who was the captain of {x} ?"),
                ("was commanded by {v}", "{v} commanded"),
                "captain",
                person_facts("learned seamanship", "rare shells"),
            ),
            Column(
                ("Home port", "Port"),
                "place",
                ("Which harbour was the home of {x} ?", "What was the home port of {x} ?"),
                ("had its home in {v}", "was stationed at {v}"),
            ),
            Column(
                ("Launched", "Launch"),
                "year",
                ("When did {x} first touch the water ?", "In which year was {x} launched ?"),
                ("was launched in {v}", "first touched the water in {v}"),
            ),
            Column(
                ("Type",),
                "ship_type",
                ("What type of ship was {x} ?", "Of which type was {x} ?"),
                ("was a {v}",),
            ),
        ),
    ),
    Domain(
        "composers",
        Column(
            ("Composer", "Name"),
            "person",
            (),
            (),
            "composer",
            (
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
