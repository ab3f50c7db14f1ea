"""Questions made from tables by a grammar in SQL's terms, executed on the table, worded in many ways.

- ``sheet``: a table whose columns are numbers, dates or texts
- ``rows``, ``grammar``: sets of rows, and queries on them, executed here and written as SQL
- ``words``, ``wording``: names of columns and mentions of values; conditions and superlatives; noise
- ``questions`` with ``order``, ``counts``, ``computed``; ``conversations``: draw a question, or a question with its
  follow-ups, that has one clear answer
- ``copies``, ``measures``, ``everyday_columns``: tables with columns that people ask about and Wikipedia
  seldom has
- ``sources``: the tables to ask about, without those of any development or test split
- ``generate``, ``folder``: write the questions, and read them as examples

The statements of ``tables.statements`` compare sets of texts, as the release does; questions need cells, types and SQL.
"""
