"""The search loop: proposers, archive, memory and budgets."""
