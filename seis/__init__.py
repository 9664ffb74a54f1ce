"""The door to SEIS: what users import, the command line and the client."""
