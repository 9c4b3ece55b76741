"""Engines that move the rows of large tables to workers: Spark and Ray."""
