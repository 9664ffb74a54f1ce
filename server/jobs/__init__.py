"""Jobs: what is asked, who runs it, and what comes of it."""
