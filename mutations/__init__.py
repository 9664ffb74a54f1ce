"""The rewrites of a design, and the verifier that certifies them."""
