"""The portfolio: many repositories audited each in a process of its own, what they share counted once, one ranking."""
