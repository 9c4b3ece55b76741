"""Input data: files, frames, dicts and matrices become tables with canonical columns."""
