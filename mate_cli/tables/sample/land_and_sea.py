"""Sample tables about mountains, bridges, ships and football clubs."""

from __future__ import annotations

from mate_cli.tables.sample.grammar import Column, Domain, Fact, person_facts

LAND_AND_SEA: tuple[Domain, ...] = (
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
        "bridges",
        Column(
            ("Bridge", "Name"),
            "bridge",
            (),
            (),
            "bridge",
            (
                Fact(
                    "person",
                    ("{e} was opened by {v} with a short speech .", "{v} cut the ribbon of {e} ."),
                    ("Who inaugurated {x} ?", "Which guest of honour inaugurated {x} ?"),
                    ("{v} inaugurated", "was inaugurated by {v}"),
                ),
                Fact(
                    "place",
                    ("The parts of {e} came from a foundry in {v} .", "Workshops in {v} supplied {e} ."),
                    ("Where was {x} manufactured ?", "In which town were the pieces of {x} produced ?"),
                    ("was manufactured in {v}", "consists of pieces produced in {v}"),
                ),
            ),
        ),
        (
            Column(
                ("Engineer", "Designed by"),
                "person",
                ("Who was the engineer of {x} ?", "Who designed {x} ?"),
                ("was designed by {v}", "{v} designed"),
                "engineer",
                person_facts("studied statics", "steam engines"),
            ),
            Column(
                ("River", "Crosses"),
                "river",
                ("Which water does {x} cross ?", "Over which river does {x} lead ?"),
                ("leads over the {v}", "crosses the {v}"),
            ),
            Column(
                ("Length ( m )", "Total length"),
                "length",
                ("How long is {x} ?", "What is the length of {x} ?"),
                ("is {v} metres long", "has a length of {v} metres"),
            ),
            Column(
                ("Material",),
                "material",
                ("What is {x} built of ?", "Which material was used for {x} ?"),
                ("is built of {v}",),
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
)
