"""Schedules: when jobs are begun, by whom, in which hours, and what is reported in the morning."""
