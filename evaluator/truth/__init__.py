"""Measurements held against the bound: read them, place each at its operating point, compare.

    rows         CSV files of measurements, every cell checked
    names        models, devices and storage formats as the sources spell them
    deployment   which devices decode, and how they share the work
    points       the operating point of a measured service
    placements   its design, placed as stated or conventionally
    favour       a device as a bound may see it
    bounds       what no machine can beat at an operating point
    predictions  what we expect there
    operators    limits of single operators and collectives, by the designs of `singles`
    validation   all rows of a file: placed, violations, quartiles, prediction error
    gap          one measured run, its fractions of the limits, and what would help it

The reading is always the favourable one: what a row leaves open is taken so that the bound is as fast as
it can be.
"""
