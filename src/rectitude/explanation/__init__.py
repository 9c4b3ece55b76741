"""Why two numbers differ, which definition a number has, and how one comes about."""
