"""One repository per concept; `db.repository` joins them."""
