"""Tables from outside: files, frames, dicts and matrices become one recognised table."""
