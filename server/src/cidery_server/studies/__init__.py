"""Studies with people: who is asked what, what they answer, and what their answers say.

An item is a line of judgments (docs/judgments-format.md) that nobody has answered yet; with its
answers it becomes one, and `cidery meta` reads it. Needs the extra `server`.
"""
