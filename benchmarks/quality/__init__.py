"""Quality of the search: hypervolume against evaluations, next to random search and NSGA-II."""
