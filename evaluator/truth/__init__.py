"""Measurements held against the bound: read them, place each at its operating point, compare.

    rows         CSV files of measurements, every cell checked
    names        models, devices and storage formats as the sources spell them
    deployment   which devices decode, and how they share the work
    points       the operating point of a measured service
    bounds       what no machine can beat at an operating point, and what we predict there
    operators    the same for single operators and collectives, as designs of one operator
    validation   all rows of a file: placed, violations, quartiles, prediction error

The reading is always the favourable one: what a row leaves open is taken so that the bound is as fast as
it can be.
"""
