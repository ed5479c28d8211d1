"""Human studies: items, judges, answers and results.

An item is a line of judgments (docs/judgments-format.md) that nobody has answered yet; with its
answers it becomes one, and `cidery meta` reads it. Needs the extra `server`.
"""
