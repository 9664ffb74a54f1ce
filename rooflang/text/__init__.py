"""Reading a text: its limits, its words, its tree, and messages that point into it. The door is `parser`."""
