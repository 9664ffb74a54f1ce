"""How fast a design can be on given devices: clocks, memory, sweeps and services."""
